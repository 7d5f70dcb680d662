build/interpose/hooks.o: interpose/hooks.c interpose/hooks.h include/shiny/wire.h \
 src/base/err.h
