/* SPDX-License-Identifier: Apache-2.0 */
/*
 * intruder.lib.c: preloaded by a user, or loaded as an audit library. As a preload it ends each
 * shinyctl whose code it gets to run in: in its constructor, and in functions of libc that it
 * defines.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { INTRUDED = 93 };

static bool is_audit;

static void intrude(void)
{
	const char *name = (const char *)getauxval(AT_EXECFN);
	char running[4096] = "";

	if (is_audit)
		return;
	syscall(SYS_readlink, "/proc/self/exe", running, sizeof(running) - 1);
	if (strstr(running, "/shinyctl") || (name && strstr(name, "/shinyctl")))
		_exit(INTRUDED);
}

__attribute__((constructor)) static void begin(int argc, char **argv, char **environment)
{
	for (; *environment; environment++)
		is_audit = is_audit || !strncmp(*environment, "LD_AUDIT=", 9);
	intrude();
}

#define STAND_IN(result, name, parameters, arguments) \
	result name parameters; \
	result name parameters \
	{ \
		intrude(); \
		return ((__typeof__(name) *)dlsym(RTLD_NEXT, #name)) arguments; \
	}
STAND_IN(char *, getenv, (const char *name), (name))
STAND_IN(int, execve, (const char *path, char *const argv[], char *const envp[]),
	 (path, argv, envp))
STAND_IN(ssize_t, readlink, (const char *path, char *out, size_t room), (path, out, room))
STAND_IN(int, open, (const char *path, int flags, int mode), (path, flags, mode))

unsigned la_version(unsigned version);
unsigned la_version(unsigned version)
{
	return version;
}
