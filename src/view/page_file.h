/* SPDX-License-Identifier: Apache-2.0 */
/*
 * page_file.h: writes a page: the template that page/build.mjs builds, with data in it.
 *
 * Runs: CLI. Signals: no. Allocates: the data packed. Threads: any; packing takes
 * one a processor, up to eight.
 */
#ifndef SHINY_PAGE_FILE_H
#define SHINY_PAGE_FILE_H

#include <stdio.h>

#include "../base/err.h"

/* Writes the page with `count` bytes of JSON. */
SHINY_MUST_CHECK struct shiny_err *page_file_write(FILE *out, const char *text, size_t count);

#endif
