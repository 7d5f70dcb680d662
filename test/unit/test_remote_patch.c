/* SPDX-License-Identifier: Apache-2.0 */
/* test_remote_patch.c: code of a process that runs is patched only when no thread is inside the
 * bytes that change or returns there, and is as before afterwards. */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shiny/wire/patch.h>

#include "../../src/ctl/run/remote_patch.h"
#include "check.h"

/* in_bytes goes round within its first 8 bytes until *go is set; in_call calls `wait` from its
 * first two. */
__asm__(".pushsection .text\n"
	"in_bytes:\n"
	"	nop\n"
	"1:	pause\n"
	"	cmpl $0, (%rdi)\n"
	"	je 1b\n"
	"	ret\n"
	"in_call:\n"
	"	call *%rsi\n"
	"	nop\n	nop\n	nop\n"
	"	ret\n"
	".p2align 4\n"
	".popsection");
extern char in_bytes[], in_call[];
enum { BYTES = 8, CALL = 5 };

static struct target_place { volatile int go, inside; } *place; /* shared */
static struct shiny_patch patch[1];

static void stay(volatile int *go)
{
	while (!*go)
		;
}

static pid_t start_target(char *function)
{
	pid_t pid = fork();

	if (!pid) {
		place->inside = 1;
		((void (*)(volatile int *, void (*)(volatile int *)))(uintptr_t)function)(
			&place->go, stay);
		for (;;)
			pause();
	}
	while (!place->inside)
		;
	return pid;
}

static bool has(pid_t pid, const uint8_t *bytes)
{
	char path[64];
	uint8_t now[SHINY_PATCH_JUMP];
	FILE *memory;
	bool same;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = fopen(path, "re");
	same = memory && fseeko(memory, (off_t)patch[0].entry, SEEK_SET) == 0 &&
	       fread(now, sizeof(now), 1, memory) == 1 && memcmp(now, bytes, sizeof(now)) == 0;
	if (memory)
		fclose(memory);
	return same;
}

static void try(const char *name, char *function, unsigned displaced)
{
	struct remote_patches patches = { .at = (uintptr_t)patch, .count = 1 };
	struct shiny_err *err;
	pid_t pid, helper;
	int status;

	*place = (struct target_place){ 0, 0 };
	patch[0] = (struct shiny_patch){ .entry = (uintptr_t)function,
					 .jump = { 0xe9, 1, 2, 3, 4 },
					 .displaced = (uint8_t)displaced };
	memcpy(patch[0].before, function, SHINY_PATCH_JUMP);
	patches.pid = pid = start_target(function);
	helper = fork();
	if (!helper) {
		usleep(50000);
		place->go = 1;
		_exit(0);
	}
	err = remote_patches_write(&patches);
	check(name, !err && place->go && has(pid, patch[0].jump),
	      err ? err->message : "written while it was inside, or not at all");
	shiny_err_free(err);
	err = remote_patches_undo(&patches);
	check(name, !err && has(pid, patch[0].before), err ? err->message : "not as before");
	shiny_err_free(err);
	check(name, waitpid(pid, &status, WNOHANG) == 0, "it has ended");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	waitpid(helper, &status, 0);
}

int main(void)
{
	struct remote_patches none = { .pid = getpid() };

	place = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	try("in the bytes", in_bytes, BYTES);
	try("returns there", in_call, CALL);
	check("none", !remote_patches_write(&none), "an error");
	return failures != 0;
}
