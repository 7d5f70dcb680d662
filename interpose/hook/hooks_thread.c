/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_thread.c: notices when threads, processes and modules start and end.
 *
 * Runs:      inside, in place of pthread_create, fork, _exit, dlopen, dlclose, …
 * Signals:   fork and _exit are async-signal-safe and stay so.
 * Allocates: nothing.
 * Threads:   any.
 *
 * dlopen looks at its return address: the caller's RUNPATH ($ORIGIN of the caller), namespace and
 * scope follow from it. A wrapper would become the caller, and `dlopen("plugin.so")` from a library
 * with RUNPATH=$ORIGIN/plugins would fail. So the hooks of dlopen and dlmopen save the arguments,
 * announce that modules are about to change, restore them and jump: the real function finds the
 * stack as the program left it. These hooks do not see its return (see si_event_modules_changing).
 * With RTLD_DEEPBIND they must (rebind.h): there the real function is entered with the address of a
 * return instruction in the caller's own code on top of the stack, and ours below. It sees its
 * caller and returns to that instruction, which returns to us. Rejected: the same with a `call`
 * instruction for every dlopen (a stack walk from a constructor would meet it), and dlmopen with a
 * namespace computed by us (RUNPATH is still ours).
 *
 * A thread starts in thread_main, which reports it and jumps on to the program's routine: no frame
 * of ours stays on its stack. thread_main's data lies in a pool of fixed size: the creator takes an
 * entry, the new thread frees it at once. With the pool empty a thread starts without us, and the
 * engine meets it at its first event.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <pthread.h>
#include <linux/seccomp.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../core/clock.h"
#include "hooks.h"
#include "readable.h"
#include "../record/notice.h"
#include "../record/process.h"
#include "rebind.h"
#include "../record/tag.h"
#include "../record/thread.h"
#include "../record/tid.h"
#include "../record/wait.h"

enum { BIRTHS = 1024 };

struct birth {
	uint32_t taken;
	void *(*routine)(void *);
	void *argument;
	struct si_thread_birth facts;
};
static struct birth births[BIRTHS];
static uint32_t births_hint;

static struct birth *birth_take(void)
{
	uint32_t start = __atomic_fetch_add(&births_hint, 1, __ATOMIC_RELAXED);

	for (uint32_t n = 0; n < BIRTHS; n++) {
		struct birth *birth = &births[(start + n) % BIRTHS];
		uint32_t is_free = 0;

		if (__atomic_compare_exchange_n(&birth->taken, &is_free, 1, false, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return birth;
	}
	return NULL;
}

static void birth_give(struct birth *birth)
{
	__atomic_store_n(&birth->taken, 0, __ATOMIC_RELEASE);
}

static void *thread_main(void *record)
{
	struct birth birth = *(struct birth *)record;

	birth_give(record);
	si_event_thread_start(SI_FRAME(), &birth.facts);
	return birth.routine(birth.argument);
}

static size_t stack_bytes(const pthread_attr_t *attr)
{
	pthread_attr_t defaults;
	size_t bytes = 0;

	if (attr)
		return pthread_attr_getstacksize(attr, &bytes) == 0 ? bytes : 0;
	if (pthread_getattr_default_np(&defaults) != 0)
		return 0;
	if (pthread_attr_getstacksize(&defaults, &bytes) != 0)
		bytes = 0;
	pthread_attr_destroy(&defaults);
	return bytes;
}

int si_hook_pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*routine)(void *),
			   void *argument)
{
	struct birth *birth;
	int error;

	if (!SI_NEXT(pthread_create))
		return EAGAIN;
	birth = birth_take();
	if (!birth)
		return si_next.pthread_create(thread, attr, routine, argument);
	birth->routine = routine;
	birth->argument = argument;
	birth->facts.stack_bytes = stack_bytes(attr);
	birth->facts.creator = si_event_thread_creating();
	birth->facts.tag = si_tag_now();
	error = si_next.pthread_create(thread, attr, thread_main, birth);
	if (error)
		birth_give(birth);
	return error;
}

/* Leaves names that one thread gives another to the sidecar, which reads the names of long-lived
 * threads; to write such a name here, we would have to know that the other thread does not end
 * meanwhile. */
int si_hook_pthread_setname_np(pthread_t thread, const char *name)
{
	int error = SI_NEXT(pthread_setname_np) ? si_next.pthread_setname_np(thread, name) : ENOSYS;

	if (error == 0 && pthread_equal(thread, pthread_self()))
		si_thread_named(name);
	return error;
}

pid_t si_hook_fork(void)
{
	pid_t pid;

	si_tid_forking();
	pid = SI_NEXT(fork) ? si_next.fork() : -1;

	if (pid == 0)
		si_event_forked_child();
	return pid;
}

pid_t si_hook_raw_fork(void)
{
	pid_t pid;

	si_tid_forking();
	pid = SI_NEXT(raw_fork) ? si_next.raw_fork() : -1;

	if (pid == 0)
		si_event_forked_child();
	return pid;
}

/* Called in the parent of a vfork when it resumes. */
SI_INTERNAL void si_vfork_over(uint32_t child);
__attribute__((used)) void si_vfork_over(uint32_t child)
{
	si_notice_started((struct si_notice){ si_vfork_notice }, child);
	si_vfork_notice = 0;
	si_exec_vfork_over();
}

/*
 * A child that shares our memory while we sleep is a vfork's (below), if it has our thread storage
 * too.
 */
int si_hook_clone(int (*routine)(void *), void *stack, int flags, void *argument, ...)
{
	bool vforks = (flags & (CLONE_VM | CLONE_VFORK | CLONE_THREAD | CLONE_SETTLS)) ==
		      (CLONE_VM | CLONE_VFORK);
	void *parent_tid, *tls, *child_tid;
	va_list more;
	int pid;

	va_start(more, argument);
	parent_tid = va_arg(more, void *);
	tls = va_arg(more, void *);
	child_tid = va_arg(more, void *);
	va_end(more);
	if (!SI_NEXT(clone)) {
		errno = ENOSYS;
		return -1;
	}
	if (vforks)
		si_vforked++;
	pid = si_next.clone(routine, stack, flags, argument, parent_tid, tls, child_tid);
	if (vforks) {
		si_vforked--;
		if (pid > 0)
			si_vfork_over((uint32_t)pid);
	}
	return pid;
}

void si_hook_exit_now(int status)
{
	si_event_exits(status);
	if (SI_NEXT(exit_now))
		si_next.exit_now(status);
	__builtin_trap(); /* not reached: the real function does not return */
}

void si_hook_exit_now_c(int status)
{
	si_event_exits(status);
	if (SI_NEXT(exit_now_c))
		si_next.exit_now_c(status);
	__builtin_trap();
}

/* The handlers of at_quick_exit run after this, and may allocate: their events are recorded, but
 * their blocks' vptrs are not read. */
void si_hook_quick_exit(int status)
{
	si_event_exits(status);
	if (SI_NEXT(quick_exit))
		si_next.quick_exit(status);
	__builtin_trap();
}

int si_hook_dlclose(void *handle)
{
	int status;

	if (!SI_NEXT(dlclose))
		return -1;
	si_event_modules_changed();
	status = si_next.dlclose(handle);
	si_new_forget_modules();
	si_event_modules_changed();
	return status;
}

/* The C half of the syscall stub. */
SI_INTERNAL void si_syscall_coming(long call, long a, long b, long c);
__attribute__((used)) void si_syscall_coming(long call, long a, long b, long c)
{
	bool filter = call == SYS_seccomp ? a == SECCOMP_SET_MODE_FILTER
					  : call == SYS_prctl && a == PR_SET_SECCOMP;

	if (si_reach_is_changed_by(call))
		si_reach_changes();
	if (call == SYS_mprotect && !(c & PROT_READ))
		si_readable_no_more((const void *)a, (size_t)b);
	if (filter && c) /* without a program the call only tests whether filters exist */
		si_wait_filtered();
	if (call == SYS_seccomp || (call == SYS_prctl && a == PR_SET_SECCOMP))
		si_wait_awake();
	if (si_clock_forbids_tsc(call, a, b) && si_clock_leave_tsc())
		si_count(SHINY_COUNT_TSC_FORBIDDEN);
}

/* The C half of the dlopen and dlmopen stubs. */
SI_INTERNAL void si_modules_changing(void);
__attribute__((used)) void si_modules_changing(void)
{
	si_next_resolve();
	si_event_modules_changing();
}

#ifndef SHINY_TEST
/* Saves three argument registers; with the return address they keep the stack aligned at the call.
 * `jump` jumps to the real function, whose address is in rax. */
#define STUB(symbol, real, jump)                          \
	__asm__(".pushsection .text\n"                    \
		".globl " symbol "\n"                     \
		".hidden " symbol "\n"                    \
		".type " symbol ", @function\n"           \
		".p2align 4\n" symbol ":\n"               \
		"	.cfi_startproc\n"                       \
		"	push %rdi\n	.cfi_adjust_cfa_offset 8\n" \
		"	push %rsi\n	.cfi_adjust_cfa_offset 8\n" \
		"	push %rdx\n	.cfi_adjust_cfa_offset 8\n" \
		"	call si_modules_changing\n"             \
		"	pop %rdx\n	.cfi_adjust_cfa_offset -8\n" \
		"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n" \
		"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n" \
		"	mov " real "(%rip), %rax\n"       \
		"	test %rax, %rax\n"                      \
		"	jz 1f\n" jump "1:	ret\n"          \
		"	.cfi_endproc\n"                         \
		".size " symbol ", . - " symbol "\n"      \
		".popsection")

/* 8 is RTLD_DEEPBIND. rdx holds no argument of dlopen. The real function must find the stack
 * misaligned as it is at our entry. */
#define JUMP_OR_COME_BACK                           \
	"	test $8, %sil\n"                          \
	"	jz 2f\n"                                  \
	"	push %rdi\n	.cfi_adjust_cfa_offset 8\n"   \
	"	push %rsi\n	.cfi_adjust_cfa_offset 8\n"   \
	"	push %rax\n	.cfi_adjust_cfa_offset 8\n"   \
	"	mov 24(%rsp), %rdi\n"                     \
	"	call si_scope_way\n"                      \
	"	mov %rax, %rdx\n"                         \
	"	pop %rax\n	.cfi_adjust_cfa_offset -8\n"   \
	"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n"   \
	"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"   \
	"	test %rdx, %rdx\n"                        \
	"	jz 2f\n"                                  \
	"	lea 3f(%rip), %rcx\n"                     \
	"	push %rcx\n	.cfi_adjust_cfa_offset 8\n"   \
	"	push %rdx\n	.cfi_adjust_cfa_offset 8\n"   \
	"	jmp *%rax\n	.cfi_adjust_cfa_offset -16\n" \
	"3:	push %rax\n	.cfi_adjust_cfa_offset 8\n" \
	"	mov %rax, %rdi\n"                         \
	"	call si_scope_opened\n"                   \
	"	pop %rax\n	.cfi_adjust_cfa_offset -8\n"   \
	"	ret\n"                                    \
	"2:	jmp *%rax\n"

STUB("si_stub_dlopen", "si_next_dlopen", JUMP_OR_COME_BACK);
STUB("si_stub_dlmopen", "si_next_dlmopen", "	jmp *%rax\n");

/*
 * vfork. The child returns first, into its caller's frame, and overwrites what lies below; the
 * parent finds its return address in a register, as glibc's own does it. The child marks itself in
 * the thread storage that both share; the parent clears the mark. Results from -4095 on are errors.
 */
#define VFORK(symbol)                                                               \
	__asm__(".pushsection .text\n"                                              \
		".globl " symbol "\n"                                               \
		".hidden " symbol "\n"                                              \
		".type " symbol ", @function\n"                                     \
		".p2align 4\n" symbol ":\n"                                         \
		"	.cfi_startproc\n"                                                 \
		"	mov si_vforked@gottpoff(%rip), %rdx\n"                            \
		"	mov %fs:(%rdx), %esi\n"                                           \
		"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n	.cfi_register %rip, "      \
		"%rdi\n"                                                            \
		"	mov $58, %eax\n" /* SYS_vfork */                            \
		"	syscall\n"                                                        \
		"	push %rdi\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset %rip, 0\n" \
		"	test %rax, %rax\n"                                                \
		"	jnz 1f\n"                                                         \
		"	inc %esi\n"                                                       \
		"1:	mov %esi, %fs:(%rdx)\n"                                         \
		"	cmp $-4095, %rax\n"                                               \
		"	jae 2f\n"                                                         \
		"	test %eax, %eax\n"                                                \
		"	jz 3f\n"                                                          \
		"	push %rax\n	.cfi_adjust_cfa_offset 8\n"                           \
		"	mov %eax, %edi\n"                                                 \
		"	call si_vfork_over\n"                                             \
		"	pop %rax\n	.cfi_adjust_cfa_offset -8\n"                           \
		"3:	ret\n"                                                          \
		"2:	neg %eax\n"                                                     \
		"	push %rax\n	.cfi_adjust_cfa_offset 8\n"                           \
		"	call __errno_location@plt\n"                                      \
		"	pop %rdx\n	.cfi_adjust_cfa_offset -8\n"                           \
		"	mov %edx, (%rax)\n"                                               \
		"	mov $-1, %rax\n"                                                  \
		"	ret\n"                                                            \
		"	.cfi_endproc\n"                                                   \
		".size " symbol ", . - " symbol "\n"                                \
		".popsection")

VFORK("si_stub_vfork");
VFORK("si_stub_vfork_old");

/*
 * syscall(), for two calls that may forbid us to read the TSC (clock.h), one that may hide memory
 * (readable.h), and those that change what the process can reach (hooks_reach.c). Any other costs
 * seven comparisons at most.
 */
__asm__(".pushsection .text\n"
	".globl si_stub_syscall\n"
	".hidden si_stub_syscall\n"
	".type si_stub_syscall, @function\n"
	".p2align 4\nsi_stub_syscall:\n"
	"	.cfi_startproc\n"
	"	cmp $10, %rdi\n" /* SYS_mprotect */
	"	je 2f\n"
	"	cmp $105, %rdi\n" /* from SYS_setuid to SYS_mount, with SYS_prctl */
	"	jb 1f\n"
	"	cmp $165, %rdi\n"
	"	jbe 2f\n"
	"	cmp $272, %rdi\n" /* SYS_unshare */
	"	je 2f\n"
	"	cmp $308, %rdi\n" /* SYS_setns */
	"	je 2f\n"
	"	cmp $317, %rdi\n" /* SYS_seccomp */
	"	je 2f\n"
	"	cmp $429, %rdi\n" /* SYS_move_mount */
	"	je 2f\n"
	"1:	mov si_next_syscall(%rip), %rax\n"
	"	test %rax, %rax\n"
	"	jz 3f\n"
	"	jmp *%rax\n"
	"2:	push %rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rdx\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rcx\n	.cfi_adjust_cfa_offset 8\n"
	"	push %r8\n	.cfi_adjust_cfa_offset 8\n"
	"	push %r9\n	.cfi_adjust_cfa_offset 8\n"
	"	sub $8, %rsp\n	.cfi_adjust_cfa_offset 8\n"
	"	call si_syscall_coming\n"
	"	add $8, %rsp\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %r9\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %r8\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rcx\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdx\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	jmp 1b\n"
	"3:	mov %rdi, %rax\n" /* the real function is not known yet */
	"	mov %rsi, %rdi\n"
	"	mov %rdx, %rsi\n"
	"	mov %rcx, %rdx\n"
	"	mov %r8, %r10\n"
	"	mov %r9, %r8\n"
	"	mov 8(%rsp), %r9\n"
	"	syscall\n"
	"	cmp $-4095, %rax\n"
	"	jae 4f\n"
	"	ret\n"
	"4:	neg %eax\n"
	"	push %rax\n	.cfi_adjust_cfa_offset 8\n"
	"	call __errno_location@plt\n"
	"	pop %rdx\n	.cfi_adjust_cfa_offset -8\n"
	"	mov %edx, (%rax)\n"
	"	mov $-1, %rax\n"
	"	ret\n"
	"	.cfi_endproc\n"
	".size si_stub_syscall, . - si_stub_syscall\n"
	".popsection");
#endif
