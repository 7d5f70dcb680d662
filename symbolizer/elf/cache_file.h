/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cache_file.h: files of the user's cache: one for each build-id, below $XDG_CACHE_HOME/shiny.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: yes. Threads: any; several processes may use one
 * file.
 *
 * A file is replaced as a whole (rename), so that a reader never sees half of one; of two writers
 * the later one wins. Whether what was read makes sense is the caller's to judge.
 */
#ifndef SHINY_SYM_CACHE_FILE_H
#define SHINY_SYM_CACHE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CACHE_FILE_ID_MIN = 4 }; /* bytes of a build-id that tell files apart */

/*
 * DIRECTORY/KIND/BUILD-ID and `suffix`, malloc'ed. `directory` NULL: $XDG_CACHE_HOME/shiny, else
 * ~/.cache/shiny; as root, only one of root's own. NULL: there is no such place, or the build-id is
 * too short.
 */
char *cache_file_path(const char *directory, const char *kind, const uint8_t *build_id,
		      size_t build_id_bytes, const char *suffix);

/* The whole file, malloc'ed, if it is a regular file of this user that nobody else may write, at
 * least `least` and at most `most` bytes long. NULL: it isn't. */
void *cache_file_read(const char *path, size_t least, size_t most, size_t *bytes);

/* Removes the oldest files of the same name but for what follows its last `-`, beyond `keep` of
 * them. */
void cache_file_prune(const char *path, size_t keep);

/* The directory of all of them, malloc'ed, made where it was not there; NULL: there is no such
 * place. */
char *cache_file_place(void);

/* Whether there is such a place, and files can be written there. */
bool cache_file_writable(void);

/* Makes the directories in front of the path's last slash, as far as that can be done. */
void cache_file_directories(const char *path);

/* Mode 0600; makes the directories. False: it can't be written, errno says why, and nothing has
 * changed. */
bool cache_file_write(const char *path, const void *data, size_t bytes);

#endif
