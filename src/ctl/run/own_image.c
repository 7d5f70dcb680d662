/* SPDX-License-Identifier: Apache-2.0 */
/*
 * own_image.c: see own_image.h.
 *
 * A preloaded library may define any function of libc, so the first image calls none: it makes
 * system calls by hand. Names change in place: nothing is allocated, and variables keep their
 * order. If the exec fails, this image goes on with the preloads.
 */
#define _GNU_SOURCE
#include "own_image.h"

#include <elf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *loaders, *ours; /* of equal length */
} names[] = {
	{ "LD_PRELOAD=", "SHINY_PREL=" },
	{ "LD_AUDIT=", "SHINY_AU=" },
};

/* True if it renamed a variable with a value. */
static bool rename_variables(char **environment, bool restore)
{
	bool renamed = false;

	for (; *environment; environment++)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
			const char *from = restore ? names[i].ours : names[i].loaders;
			const char *to = restore ? names[i].loaders : names[i].ours;
			size_t n = 0;

			while (from[n] && (*environment)[n] == from[n])
				n++;
			if (from[n] || !(*environment)[n])
				continue;
			for (size_t k = 0; k < n; k++)
				(*environment)[k] = to[k];
			renamed = true;
		}
	return renamed;
}

void own_image_restore(void)
{
	rename_variables(environ, true);
}

static long call(long number, const void *a, const void *b, const void *c)
{
	long result;

	__asm__ volatile("syscall"
			 : "=a"(result)
			 : "a"(number), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return result;
}

static const char *auxiliary(char **environment, unsigned long type)
{
	const Elf64_auxv_t *at;

	while (*environment)
		environment++;
	for (at = (const void *)(environment + 1); at->a_type != AT_NULL; at++)
		if (at->a_type == type)
			return (const char *)at->a_un.a_val;
	return NULL;
}

/* If the user started the loader with us as its argument, the running file is the loader's: it has
 * no loader itself (AT_BASE), and our name is in AT_EXECFN. */
__attribute__((no_sanitize("address", "undefined"))) static void execute_alone(int argc,
									       char **argv,
									       char **environment)
{
	char path[PATH_MAX];
	long bytes;

	(void)argc;
	if (!rename_variables(environment, false))
		return;
	if (auxiliary(environment, AT_BASE)) {
		bytes = call(SYS_readlink, "/proc/self/exe", path, (void *)(sizeof(path) - 1));
		path[bytes > 0 ? bytes : 0] = '\0';
		call(SYS_execve, path, argv, environment);
		call(SYS_execve, "/proc/self/exe", argv, environment); /* our file was removed */
	}
	call(SYS_execve, auxiliary(environment, AT_EXECFN), argv, environment);
	rename_variables(environment, true);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **, char **) =
	execute_alone;
