build/interpose/hooks.o: interpose/hook/hooks.c interpose/hook/hooks.h include/shiny/wire/wire.h \
 src/base/err.h
