/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_head.h: reads and checks the head of the probe's file about this executable
 * (include/shiny/wire/probe.h).
 *
 * Runs:      inside, in the constructor.
 * Signals:   no.
 * Allocates: the head of a good file, by mmap.
 * Threads:   one.
 */
#ifndef SI_PROBE_HEAD_H
#define SI_PROBE_HEAD_H

#include <shiny/wire/patch.h>
#include <shiny/wire/probe.h>

#include "../core/base.h"

/* Sets another directory for such files, which is used if the user has no writable cache. The text
 * must stay valid. */
void si_probe_beside(const char *directory);
bool si_probe_was_beside(void); /* true if a file was found there */

/*
 * Opens BUILD-ID + `suffix` in the directory of such files. -ENOENT: there is none. Another
 * negative value: the file is refused, and `why` says why. `why` always gets the file's name.
 */
int si_probe_open(char *const *environment, const uint8_t *build_id, size_t build_id_bytes,
		  const char *suffix, struct si_text *why);

enum si_probe { SI_PROBE_NONE, SI_PROBE_BAD, SI_PROBE_GOOD };

/*
 * Reads the head of the file for `build_id`. GOOD: `head` has it, SHINY_PROBE_HEAD_MAX bytes that
 * the caller unmaps. NONE: there is no such file. BAD: it must not be used, `why` says why.
 */
enum si_probe si_probe_read(char *const *environment, const uint8_t *build_id,
			    size_t build_id_bytes, struct shiny_probe_file **head,
			    struct si_text *why);

/* Returns the recipe of an entry of a good file; NULL: it has none. */
const struct shiny_patch_recipe *si_probe_recipe(const struct shiny_probe_file *file,
						 const struct shiny_probe_entry *entry);

#endif
