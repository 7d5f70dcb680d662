/* SPDX-License-Identifier: Apache-2.0 */
/* patient.c: see patient.h. */
#define _GNU_SOURCE
#include "patient.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include <sqlite3.h>

#include "store.h"

static store_patience_fn *patience;
static void *patience_context;
static int last_error;

void store_be_patient(store_patience_fn *fn, void *context)
{
	patience = fn;
	patience_context = context;
}

/* True if a failed call should be repeated. Call after every call; preserves errno. */
static bool is_worth_another_try(bool failed)
{
	int error = errno;
	bool again;

	if (failed)
		last_error = error;
	again = failed && patience &&
		(error == ENOSPC || error == EDQUOT || error == EIO) &&
		patience(patience_context, error);

	errno = error;
	return again;
}

int patient_error(void)
{
	return last_error;
}

ssize_t patient_pwrite(int fd, const void *data, size_t bytes, off_t at)
{
	ssize_t done;

	do
		done = pwrite(fd, data, bytes, at);
	while (is_worth_another_try(done < 0));
	return done;
}

static int patient_ftruncate(int fd, off_t bytes)
{
	int status;

	do
		status = ftruncate(fd, bytes);
	while (is_worth_another_try(status < 0));
	return status;
}

static int patient_open(const char *path, int flags, int mode)
{
	int fd;

	do
		fd = open(path, flags, mode);
	while (is_worth_another_try(fd < 0 && flags & O_CREAT));
	return fd;
}

void patient_begin(void)
{
	static const struct {
		const char *name;
		sqlite3_syscall_ptr call;
	} calls[] = {
		/* one of the two, depending on SQLite's build */
		{ "pwrite", (sqlite3_syscall_ptr)patient_pwrite },
		{ "pwrite64", (sqlite3_syscall_ptr)patient_pwrite },
		{ "ftruncate", (sqlite3_syscall_ptr)patient_ftruncate },
		{ "open", (sqlite3_syscall_ptr)patient_open },
	};
	sqlite3_vfs *vfs = sqlite3_vfs_find("unix");

	for (size_t i = 0; vfs && i < sizeof(calls) / sizeof(*calls); i++)
		vfs->xSetSystemCall(vfs, calls[i].name, calls[i].call);
}
