build/src/collector/drain.o: src/collector/drain.c include/shiny/wire/ring.h \
 interpose/record/chunk.h
