/* SPDX-License-Identifier: Apache-2.0 */
/*
 * directory.h: the session directory, in which programs leave their rings, and its lock.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 *
 * Writing the end of a session takes seconds where there is much to name. A program that begins
 * meanwhile finds that in the lock's file (wire.h), allocates all of its ring at once and leaves it
 * to us: it gets a session of its own afterwards (sidecar_run_late), whose name has a number.
 */
#ifndef SHINY_DIRECTORY_H
#define SHINY_DIRECTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "../base/hash_table.h"
#include "../base/mem.h"
#include "state/session.h"

/* A ring that cannot be read, yet or ever. */
struct refusal {
	char *file;
	uint64_t since, again; /* wall ns: seen first; not to be tried before */
	bool told;
	bool there; /* at the last look */
};

struct directory {
	const char *path;
	int lock;         /* taken by us; -1: by who called us */
	int held;         /* the lock's file */
	uint64_t scanned; /* wall ns */
	unsigned making;  /* rings that the last look found unfinished */
	struct timespec changed; /* before the last look, by its file system */
	VEC(struct refusal) refusals;
	struct hash_table by_file; /* of refusals: there can be as many as anybody likes */
	uint64_t noted;            /* refusals that are notes, or were too many for that */
};

/* NULL: the ring of this name was not refused. */
struct refusal *directory_refusal(const struct directory *dir, const char *file);
/* Refused from now on, or as before. */
struct refusal *directory_refuse(struct directory *dir, const char *file, uint64_t wall);
/* Drops refusals of rings that became readable or disappeared; their names may be used again. */
void directory_forget_refusals(struct directory *dir);

/*
 * Before a look, which it may save: nothing came into the directory or went since the last one, and
 * that one left nothing for later.
 */
bool directory_is_still(struct directory *dir);

/* A ring of this path is served. Its name is free again once its file has been removed. */
bool directory_serves(const struct session *session, const char *path);

/* The session's first program made the directory (wire.h): only what descends from it knows the
 * name. */
bool directory_is_programs(const struct session *session, const struct directory *dir);

/*
 * Programs that begin from now on have to do without the sidecar, or are served again. Where that
 * cannot be written, they wait in vain, and say so.
 */
void directory_say_finishing(struct session *session, const struct directory *dir, bool finishing);

/*
 * Removes the rings, the lock and the directory. True: there are rings that came while the session
 * was being finished. A program that finds the lock gone starts a sidecar of its own, and one that
 * found it held has made its ring before (interpose/boot/launch.c): so first the lock goes, then we
 * look for rings.
 */
bool directory_remove(struct session *session, struct directory *dir);
void directory_deinit(struct directory *dir);

#endif
