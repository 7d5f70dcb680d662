/* SPDX-License-Identifier: Apache-2.0 */
// build: -fomit-frame-pointer
/* bench_alloc_rows.c: bench_alloc.c without frame pointers, as Debian builds everything: its 8
 * frames are found by .eh_frame. */
#include "bench_alloc.c"
