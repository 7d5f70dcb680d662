/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_file.h: files of the user's cache: one for each build-id, below $XDG_CACHE_HOME/shiny.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any; several processes may use one
 * file.
 *
 * A file is replaced as a whole (rename), so that a reader never sees half of one; of two writers
 * the later one wins. The caller must check the content.
 */
#ifndef SHINY_SYM_CACHE_FILE_H
#define SHINY_SYM_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_FILE_ID_MIN = 4 }; /* fewest bytes of a build-id that tell files apart */

/*
 * Returns DIRECTORY/KIND/BUILD-ID and `suffix`, malloc'ed. `directory` NULL: $XDG_CACHE_HOME/shiny,
 * else ~/.cache/shiny, if it belongs to this user. NULL: there is no such place, or the build-id is
 * too short.
 */
char *cache_file_path(const char *directory, const char *kind, const uint8_t *build_id,
		      size_t build_id_bytes, const char *suffix);

/* Returns the whole file, malloc'ed, if it is a regular file of this user that no other user may
 * write, of `least` to `most` bytes. NULL: it isn't. */
void *cache_file_read(const char *path, size_t least, size_t most, size_t *bytes);

/* Removes all but the `keep` newest files whose names differ from `path` only after the last
 * `-`. */
void cache_file_prune(const char *path, size_t keep);

/* Returns the directory of the whole cache, malloc'ed, and creates it; NULL: there is no such
 * place. */
char *cache_file_place(void);

/* True if that directory exists or can be created, and files can be written there. */
bool cache_file_writable(void);

/* Creates the directories before the path's last slash, as far as possible. */
void cache_file_directories(const char *path);

/* Writes the file with mode 0600, and creates its directories. False: it can't be written, errno
 * gives the reason, and nothing has changed. */
bool cache_file_write(const char *path, const void *data, size_t bytes);

#endif
