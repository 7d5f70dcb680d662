/* SPDX-License-Identifier: Apache-2.0 */
/*
 * opens.c: opens a library with an engine's heap (engine.c) when it runs, for engines_test: once,
 * or as often as it is told, closing it each time; in a namespace of its own; or behind a seccomp
 * filter that ends it at calls which the loader does not make, put there by prctl() or by an
 * instruction that no hook sees.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define ENDS_AT(call) \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##call, 0, 1), \
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static void forbid(int by_instruction)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ENDS_AT(geteuid), ENDS_AT(clock_nanosleep),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 4, 0, 1), /* PROT_EXEC */
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(*code), code };
	long result;

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (by_instruction)
		__asm__ volatile("xor %%r10d, %%r10d\n\tsyscall"
				 : "=a"(result)
				 : "a"(SYS_seccomp), "D"(SECCOMP_SET_MODE_FILTER), "S"(0),
				   "d"(&filter)
				 : "rcx", "r10", "r11", "memory");
	else
		result = prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
	if (result)
		exit(3);
}

int main(int argc, char **argv)
{
	const char *library = argv[1], *how = argc > 2 ? argv[2] : "1";

	if (!strcmp(how, "prctl") || !strcmp(how, "instruction"))
		forbid(*how == 'i');
	for (int i = 0; i < atoi(how) || (i == 0 && !atoi(how)); i++) {
		void *opened = !strcmp(how, "namespace") ? dlmopen(LM_ID_NEWLM, library, RTLD_NOW)
							 : dlopen(library, RTLD_NOW);
		void (*all)(void) = opened ? (void (*)(void))dlsym(opened, "engine_all") : NULL;

		if (!all)
			return 2;
		all();
		if (atoi(how) > 1 && (dlclose(opened) || dlopen(library, RTLD_NOW | RTLD_NOLOAD)))
			return 4;
	}
	return 0;
}
