/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held_files.h: delays the closing of session files' descriptors. Not for other rooms.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: a few bytes a file. Threads: any; one lock.
 *
 * SQLite locks a file with fcntl. Those locks belong to the process: closing any descriptor of the
 * file drops them all (fcntl(2), "Advisory record locking"). A reader of a live session that has
 * lost them no longer keeps the writer from deleting the log, so its queries fail or see damage.
 * Therefore this module closes all descriptors that this room opens beside SQLite: at once, or
 * together with the last store of the same file.
 */
#ifndef SHINY_STORE_HELD_FILES_H
#define SHINY_STORE_HELD_FILES_H

/* Call before a store opens the file of `fd`, and later held_files_leave once. */
void held_files_enter(int fd);

/* Call when the store that entered with `fd` has closed SQLite's connection. Closes `fd`, too. */
void held_files_leave(int fd);

/* close(), for a descriptor that no store entered with. */
void held_files_close(int fd);

#endif
