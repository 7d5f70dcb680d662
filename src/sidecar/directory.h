/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directory.h: the session directory, in which programs leave their rings, and its lock.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Writing the end of a session takes seconds if it has many names. A program that starts meanwhile
 * sees that in the lock file (wire.h), allocates all of its ring at once and leaves it in the
 * directory: it gets a session of its own afterwards (sidecar_run_late), whose name has a number.
 */
#ifndef SHINY_DIRECTORY_H
#define SHINY_DIRECTORY_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../base/err.h"
#include "../base/hash_table.h"
#include "../base/mem.h"
#include "state/rings.h"

/* A ring that cannot be read now, or never can. */
struct refusal {
	char *file;
	uint64_t since, again; /* wall ns: first seen; next try, among many */
	bool told;
	bool there; /* it existed at the last look */
};

struct directory {
	const char *path;
	int lock;         /* our descriptor; -1: the caller holds the lock */
	int held;         /* descriptor of the lock file */
	uint64_t scanned; /* wall ns */
	DIR *look;        /* a look of which only a part is done (new_rings.h); NULL: none */
	unsigned passed;  /* files that are no rings, in the part of a look (new_rings.c) */
	unsigned making;  /* unfinished rings at the last look */
	struct shiny_err *first; /* why the first ring was refused, until there is a session file */
	struct timespec changed; /* its modification time at the beginning of the last look */
	VEC(struct refusal) refusals;
	struct hash_table by_file; /* indexes of refusals; a hash, as a hostile user can create any
	                            * number of files */
	uint64_t noted;            /* refusals noted, or left out as too many */
};

/* Returns the refusal of the ring of this name, or NULL. */
struct refusal *directory_refusal(const struct directory *dir, const char *file);
/* Returns the ring's refusal, adding one if there is none. */
struct refusal *directory_refuse(struct directory *dir, const char *file, uint64_t wall);
/* Drops refusals of rings that became readable or disappeared; their names may be used again. */
void directory_forget_refusals(struct directory *dir);

/* True if the last look is not done, or left unfinished rings. */
bool directory_has_more(const struct directory *dir);

/*
 * True if a look at the directory can be saved: no file was added or removed since the last look,
 * and that one left no unfinished ring.
 */
bool directory_is_still(struct directory *dir);

/* True if a ring of this path is served. The name is free again once the file has been removed. */
bool directory_serves(const struct rings *rings, const char *path);

/* True if the session's first program created the directory (wire.h): only its descendants know the
 * name. */
bool directory_is_programs(const struct rings *rings, const struct directory *dir);

/*
 * Tells programs that start from now on that the sidecar does not serve them, or serves them again.
 * If that cannot be written, they wait in vain, and report it.
 */
void directory_say_finishing(struct rings *rings, const struct directory *dir, bool finishing);

/*
 * Removes the rings, the lock and the directory. True: rings were added while the session was being
 * finished. A program that finds no lock starts a sidecar of its own, and one that finds it held
 * has created its ring before (interpose/boot/launch.c); so the lock is removed first, then the
 * function looks for rings.
 */
bool directory_remove(struct rings *rings, struct directory *dir);
void directory_deinit(struct directory *dir);

#endif
