/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_texts.h: finds the strings of a file that are paths of C++ sources, or qualified names.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: 8 bytes a string. Threads: any.
 */
#ifndef SHINY_SYM_SOURCE_TEXTS_H
#define SHINY_SYM_SOURCE_TEXTS_H

#include "../../src/base/mem.h"
#include "../elf/binary.h"

enum { SOURCE_TEXT_MAX = 1024, SOURCE_TEXTS_MAX = 1 << 18 };

/* Addresses of the strings, ascending; SOURCE_TEXTS_MAX at most of each. */
struct source_texts {
	VEC(uint64_t) paths;
	VEC(uint64_t) names; /* such as v8::Object::New: in a namespace, judging by the text */
};

/* Returns the length of the namespace that a name begins with; 0: the text is no such name. */
size_t source_text_namespace(const char *text);

/* Searches all bytes of the read-only segments: 0.3 s for 300 MB. */
void source_texts_find(const struct binary *file, struct source_texts *out);
void source_texts_deinit(struct source_texts *texts);

#endif
