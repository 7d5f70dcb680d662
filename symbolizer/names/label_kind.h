/* SPDX-License-Identifier: Apache-2.0 */
/*
 * label_kind.h: the kinds of labels.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: any.
 */
#ifndef SHINY_SYM_LABEL_KIND_H
#define SHINY_SYM_LABEL_KIND_H

#include <stdint.h>

enum site_label_kind {
	SITE_LABEL_NONE,
	SITE_LABEL_STRING,	 /* characters of a std::string */
	SITE_LABEL_ARRAY,	 /* elements of `unit` bytes */
	SITE_LABEL_BEHIND_COUNT, /* an array after 8 bytes with the count of its elements */
	SITE_LABEL_STORAGE,	 /* a vector's or buffer's bytes */
	SITE_LABEL_COUNTED,	 /* an object that begins with a count of references */
	SITE_LABEL_NODE,	 /* node of a map or set */
	SITE_LABEL_CALLBACK,	 /* a count and two functions, then the bound arguments:
	                          * base::Bind's */
	SITE_LABEL_ALIGNED,	 /* an aligned block inside a larger one */
	SITE_LABEL_OBJECT,	 /* an object of exactly `unit` bytes */
};
struct site_label {
	enum site_label_kind kind;
	uint64_t unit;	 /* bytes; at least 1 */
	const char *why; /* the evidence, a constant text */
};

#endif
