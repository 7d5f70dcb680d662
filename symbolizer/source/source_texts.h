/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_texts.h: the strings of a file that are paths of C++ sources, or qualified names.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 8 bytes a string. Threads: any.
 */
#ifndef SHINY_SYM_SOURCE_TEXTS_H
#define SHINY_SYM_SOURCE_TEXTS_H

#include "../../src/base/mem.h"
#include "../elf/binary.h"

enum { SOURCE_TEXT_MAX = 1024, SOURCE_TEXTS_MAX = 1 << 18 };

/* Their addresses, rising; SOURCE_TEXTS_MAX at most. */
struct source_texts {
	VEC(uint64_t) paths;
	VEC(uint64_t) names; /* v8::Object::New: in a namespace, as far as the text says */
};

/* The namespace that a name begins with, as its length. 0: the text is no such name. */
size_t source_text_namespace(const char *text);

/* Goes over all bytes of the read-only segments: 0.3 s for 300 MB. */
void source_texts_find(const struct binary *file, struct source_texts *out);
void source_texts_deinit(struct source_texts *texts);

#endif
