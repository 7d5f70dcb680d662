/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h: gives up rights that a process never needs, before it reads foreign bytes: to start
 * programs, to reach the network, to write elsewhere.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: call it before starting others. The
 * filter applies to existing threads too, Landlock does not: it leaves out a main thread that only
 * waits (rlimits.c).
 *
 * The parsers of rings, sessions, ELF and DWARF read foreign bytes with the user's rights. If such
 * bytes take a parser over, the kernel refuses the foreign code every right that the role
 * (confine.def) lacks:
 *
 *   Landlock  restricts writing to the named places and denies starting programs; from ABI 4 on
 *             also TCP; from ABI 6 on also signals to others and abstract sockets. Reading is not
 *             restricted: programs and their debug files are anywhere. It takes raw system calls,
 *             as the C library has no functions for it.
 *   seccomp   refuses calls with EPERM. The list says which calls are denied, as systemd's for
 *             services does, not which are allowed, as OpenSSH's does: each new C library,
 *             allocator or libcurl makes other calls, and a list of allowed ones would end
 *             recordings on the next distribution. Rejected: libseccomp. It compiles such a list
 *             for every architecture, and would be one more library to load in each process for the
 *             sake of one loop over a table, on one architecture.
 *
 * Nothing depends on it. Where the kernel has neither, the process works as before; `doctor` says
 * so. Where a foreign filter is in force already, as in most containers, confine() does nothing:
 * that filter may kill for these very calls. A build with a sanitizer is not confined either, as
 * the leak checker traces its own process.
 *
 * Children inherit it. So the launcher, whose child is the program, is never confined.
 *
 * Cost: once a process, as test/unit/test_confine prints it (0.2 ms); then nothing for nearly all
 * calls, since the kernel caches which calls a filter always allows (Linux 5.11).
 */
#ifndef SHINY_CONFINE_H
#define SHINY_CONFINE_H

#include <stdbool.h>
#include <stddef.h>

enum confine_role {
#define CONFINE_ROLE(id, files, network, processes) CONFINE_##id,
#include "confine.def"
	CONFINE_ROLES
};

/* The rights that a place has. */
enum confine_right {
	CONFINE_WRITE, /* write this file */
	CONFINE_TIDY,  /* remove files below this directory */
	CONFINE_MAKE,  /* create, write and remove files below it */
	CONFINE_TREE,  /* create and remove directories below it, too */
	CONFINE_RIGHTS
};
struct confine_place {
	const char *path; /* a place is skipped if this is NULL or does not exist */
	enum confine_right right;
};

/* Restricts this process, its threads and later children to the rights of `role`. */
void confine(enum confine_role role, const struct confine_place *places, size_t count);

/* True if confine() has installed a seccomp filter in this process. */
bool confine_has_filter(void);

/* Writes a line for people about what confine() would find here. True if both Landlock and seccomp
 * are available. */
bool confine_describe(char *text, size_t room);

#endif
