/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gzip.h: compresses a document as gzip does (zlib).
 *
 * Runs: CLI. Signals: no. Allocates: the result (mem.h). Threads: any.
 */
#ifndef SHINY_GZIP_H
#define SHINY_GZIP_H

#include <stddef.h>

/* Returns the compressed document, which the caller frees; NULL: it has 2 GiB or more, or there is
 * no memory. */
char *gzip_whole(const char *text, size_t bytes, size_t *out_bytes);

#endif
