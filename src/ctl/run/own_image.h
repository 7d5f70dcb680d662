/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_image.h: runs shinyctl without the user's preloads.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: before there are any.
 *
 * LD_PRELOAD and LD_AUDIT are meant for the program that `run` starts. In shinyctl they would do
 * harm: under libfaketime's clock jemalloc waits for ever, a constructor may print or exit. So the
 * executable's first code, which the loader runs before the constructors of libraries, executes
 * shinyctl once more with both variables under other names.
 *
 * Out of reach: /etc/ld.so.preload, which the loader reads for every program; in the first image,
 * constructors of a library linked -z initfirst, and audit libraries, which the loader starts
 * earlier.
 */
#ifndef SHINY_OWN_IMAGE_H
#define SHINY_OWN_IMAGE_H

/* Gives the variables their names back, for the program to be started. Call first in main(). */
void own_image_restore(void);

#endif
