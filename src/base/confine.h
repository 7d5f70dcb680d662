/* SPDX-License-Identifier: Apache-2.0 */
/*
 * confine.h: gives up, before a byte of others is read, what its reader never needs: to start
 * programs, to reach the network, to write elsewhere.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: no. Threads: call it before there are others. The
 * filter is put into those that are there, too; Landlock is not, which leaves out the main thread
 * where rlimits.c has it wait for another one.
 *
 * The parsers of rings, sessions, ELF and DWARF read what strangers wrote, with the user's rights.
 * Should one of them be made to run a stranger's code, the kernel refuses that code what its role
 * (confine.def) does not have:
 *
 *   Landlock  where it writes, and that it starts no program; from ABI 4 on no TCP; from ABI 6 on
 *             no signals to others and no abstract sockets. Reading is not restricted: the files of
 *             programs and their debug information are anywhere. It is made by system calls; the
 *             C library has no functions for it.
 *   seccomp   refuses calls with EPERM. It is a list of what is denied, as is systemd's for
 *             services, not of what is allowed, as is OpenSSH's: each new C library, allocator or
 *             libcurl makes other calls, and a list of allowed ones would end recordings on the
 *             next distribution. Rejected: libseccomp. It compiles such a list for every
 *             architecture, and would be one more library to load in each process for the sake of
 *             one loop over a table, on one architecture.
 *
 * Nothing depends on it. Where the kernel has neither, the process works as before; `doctor` says
 * so. Where somebody else's filter is there already, as in most containers, nothing is called: that
 * filter may kill for these very calls. A build with a sanitizer is not confined either, as the
 * leak checker traces its own process.
 *
 * Children inherit it. So the launcher, whose child is the program, is never confined.
 *
 * Cost: once a process, as test/unit/test_confine prints it (0.2 ms); then nothing for nearly all
 * calls, since the kernel keeps which of them a filter always allows (Linux 5.11).
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

/* What may be done in a place. */
enum confine_right {
	CONFINE_WRITE, /* this file is written */
	CONFINE_TIDY,  /* files below this directory are removed */
	CONFINE_MAKE,  /* files below it are made, written and removed */
	CONFINE_TREE,  /* directories, too */
	CONFINE_RIGHTS
};
struct confine_place {
	const char *path; /* NULL, or not there: skipped */
	enum confine_right right;
};

/* From here on this process, its threads and children have the rights of `role` alone. */
void confine(enum confine_role role, const struct confine_place *places, size_t count);

/* This process has a filter of its own: one more than it began with. */
bool confine_has_filter(void);

/* What confine() would find here, as a line for people. True: both are there. */
bool confine_describe(char *text, size_t room);

#endif
