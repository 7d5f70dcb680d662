build/src/collector/drain.o: src/collector/drain.c include/shiny/ring.h \
 interpose/record/chunk.h
