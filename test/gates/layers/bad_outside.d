build/src/sidecar/drain.o: src/sidecar/intake/drain.c include/shiny/wire/ring.h \
 interpose/record/chunk.h
