/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "remote_call.h"

#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

#include "../../base/cleanup.h"

enum {
	RED_ZONE = 128,
	PATIENCE = 10000, /* ms: the loader's lock may be held by a thread that waits */
	RESTORER_BYTES = 9,
	SYSCALL_BYTES = 2,
	DIRECTION = 0x400, TRAP = 0x100, /* flags of the processor */
	/* the kernel's own codes for a system call that goes on after a stop */
	RESTART = 512, RESTART_NOINTR = 513, RESTART_NOHAND = 514, RESTART_BLOCK = 516,
	SOFTWARE_AT = 464, /* of struct _fpx_sw_bytes in the registers' state */
	FRAME_FLAGS = 7,   /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	NO_SUCH_STACK = 0x7fff, /* flags with which the kernel leaves sigaltstack alone */
};

/* The kernel's struct rt_sigframe, without siginfo, which nothing reads. */
struct signal_frame {
	uint64_t restorer, flags, link;
	struct { uint64_t at; uint32_t flags, unused; uint64_t bytes; } stack;
	uint64_t registers[NGREG], state, unused[8], mask;
};

/* The kernel's description of the state, in place of what ptrace has there. */
struct signal_state {
	uint32_t magic, extended_bytes;
	uint64_t features;
	uint32_t bytes, unused[7];
};

bool remote_read(const struct remote_call *call, uint64_t at, void *out, size_t bytes)
{
	struct iovec to = { out, bytes }, from = { (void *)(uintptr_t)at, bytes };

	return process_vm_readv(call->pid, &to, 1, &from, 1, 0) == (ssize_t)bytes;
}

bool remote_write(const struct remote_call *call, uint64_t at, const void *from, size_t bytes)
{
	struct iovec ours = { (void *)(uintptr_t)from, bytes },
		     to = { (void *)(uintptr_t)at, bytes };

	return process_vm_writev(call->pid, &ours, 1, &to, 1, 0) == (ssize_t)bytes;
}

/* Computes the registers with which the thread goes on if the kernel restores them: a system call
 * that was interrupted is made again. */
static struct user_regs_struct registers_for_kernel(struct user_regs_struct r)
{
	long result = (long)r.rax;

	if ((long)r.orig_rax < 0)
		return r;
	if (result == -RESTART || result == -RESTART_NOINTR || result == -RESTART_NOHAND) {
		r.rax = r.orig_rax;
		r.rip -= SYSCALL_BYTES;
	} else if (result == -RESTART_BLOCK) {
		r.rax = SYS_restart_syscall;
		r.rip -= SYSCALL_BYTES;
	}
	return r;
}

static void fill_frame(struct signal_frame *f, const struct remote_call *call, uint64_t state)
{
	struct user_regs_struct r = registers_for_kernel(call->registers);

	*f = (struct signal_frame){ .restorer = call->restorer, .flags = FRAME_FLAGS,
				    .stack.flags = NO_SUCH_STACK, .state = state,
				    .mask = call->mask };
	f->registers[REG_R8] = r.r8;
	f->registers[REG_R9] = r.r9;
	f->registers[REG_R10] = r.r10;
	f->registers[REG_R11] = r.r11;
	f->registers[REG_R12] = r.r12;
	f->registers[REG_R13] = r.r13;
	f->registers[REG_R14] = r.r14;
	f->registers[REG_R15] = r.r15;
	f->registers[REG_RDI] = r.rdi;
	f->registers[REG_RSI] = r.rsi;
	f->registers[REG_RBP] = r.rbp;
	f->registers[REG_RBX] = r.rbx;
	f->registers[REG_RDX] = r.rdx;
	f->registers[REG_RAX] = r.rax;
	f->registers[REG_RCX] = r.rcx;
	f->registers[REG_RSP] = r.rsp;
	f->registers[REG_RIP] = r.rip;
	f->registers[REG_EFL] = r.eflags;
	f->registers[REG_CSGSFS] = r.cs | r.ss << 48;
}

/* Writes the state of floating-point and vector registers as a signal frame has it. */
static bool write_state(const struct remote_call *call, uint64_t at)
{
	unsigned char copy[REMOTE_STATE];
	struct signal_state software = { .magic = FP_XSTATE_MAGIC1,
					 .extended_bytes = (uint32_t)call->state_bytes +
							   FP_XSTATE_MAGIC2_SIZE,
					 .bytes = (uint32_t)call->state_bytes };
	uint32_t end = FP_XSTATE_MAGIC2;

	memcpy(copy, call->state, call->state_bytes);
	memcpy(&software.features, copy + SOFTWARE_AT, sizeof(software.features));
	memcpy(copy + SOFTWARE_AT, &software, sizeof(software));
	return remote_write(call, at, copy, call->state_bytes) &&
	       remote_write(call, at + call->state_bytes, &end, sizeof(end));
}

struct shiny_err *remote_call_begin(struct remote_call *call, pid_t pid,
				    const struct tracee_thread *thread, uint64_t restorer,
				    size_t data)
{
	struct iovec state = { call->state, sizeof(call->state) };
	uint64_t at = (thread->registers.rsp - RED_ZONE - data) & ~(uint64_t)63;
	struct signal_frame frame;
	bool ok;

	call->pid = pid;
	call->tid = thread->tid;
	call->registers = thread->registers;
	call->restorer = restorer;
	call->called = call->gone = false;
	call->data = at;
	ok = ptrace(PTRACE_GETREGSET, call->tid, (void *)NT_X86_XSTATE, &state) == 0 &&
	     ptrace(PTRACE_GETSIGMASK, call->tid, (void *)sizeof(call->mask), &call->mask) == 0;
	call->state_bytes = state.iov_len;
	at = (at - call->state_bytes - 64) & ~(uint64_t)63;
	/* at a function's entry the stack is 8 off its alignment */
	call->frame = ((at - sizeof(frame)) & ~(uint64_t)15) - 8;
	fill_frame(&frame, call, at);
	if (ok && write_state(call, at) && remote_write(call, call->frame, &frame, sizeof(frame)) &&
	    ptrace(PTRACE_SETOPTIONS, call->tid, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0)
		return NULL;
	return shiny_err_os(errno, "cannot prepare a call in process %d", (int)pid);
}

/* Waits for the thread's next stop. */
static struct shiny_err *wait_stop(struct remote_call *call, uint64_t *waited, int *status)
{
	static const struct timespec pause = { .tv_nsec = 50000 };

	for (;;) {
		pid_t got = waitpid(call->tid, status, __WALL | WNOHANG);

		if (got == call->tid && WIFSTOPPED(*status))
			return NULL;
		if (got != 0) {
			call->gone = true;
			return shiny_err(SHINY_ERR_OTHER, "process %d ended meanwhile",
					 (int)call->pid);
		}
		if ((*waited += (uint64_t)pause.tv_nsec) > PATIENCE * UINT64_C(1000000)) {
			call->gone = true; /* the signal frame ends it */
			ptrace(PTRACE_INTERRUPT, call->tid, NULL, NULL); /* to let it go */
			return shiny_err(SHINY_ERR_OTHER,
					 "process %d: the call does not return: it waits for a "
					 "lock. It is let go, and may still end",
					 (int)call->pid);
		}
		nanosleep(&pause, NULL);
	}
}

/* Blocks all signals in the thread but those of its own faults. */
static bool block_signals(const struct remote_call *call)
{
	static const int faults[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
	uint64_t all = ~UINT64_C(0);

	for (size_t i = 0; i < sizeof(faults) / sizeof(*faults); i++)
		all &= ~(UINT64_C(1) << (faults[i] - 1));
	return ptrace(PTRACE_SETSIGMASK, call->tid, (void *)sizeof(all), &all) == 0;
}

struct shiny_err *remote_call(struct remote_call *call, uint64_t function, uint64_t a, uint64_t b)
{
	struct user_regs_struct r = call->registers;
	uint64_t waited = 0;
	int signal = 0, status;

	r.rip = function;
	r.rsp = call->frame;
	r.rdi = a;
	r.rsi = b;
	r.rax = 0;
	r.orig_rax = ~UINT64_C(0);
	r.eflags &= ~(unsigned long)(DIRECTION | TRAP);
	call->called = true;
	/* the registers first: without them nothing would take the mask back */
	if (ptrace(PTRACE_SETREGS, call->tid, NULL, &r) != 0 || !block_signals(call))
		return shiny_err_os(errno, "cannot start a call in process %d", (int)call->pid);
	do {
		if (ptrace(PTRACE_SYSCALL, call->tid, NULL, (void *)(intptr_t)signal) != 0 &&
		    errno != ESRCH)
			return shiny_err_os(errno, "cannot go on in process %d", (int)call->pid);
		SHINY_TRY(wait_stop(call, &waited, &status));
		signal = status >> 16 || WSTOPSIG(status) & 0x80 ? 0 : WSTOPSIG(status);
		if (ptrace(PTRACE_GETREGS, call->tid, NULL, &r) != 0)
			r.rip = 0;
	} while (r.rip != call->restorer + RESTORER_BYTES || r.orig_rax != SYS_rt_sigreturn ||
		 WSTOPSIG(status) != (SIGTRAP | 0x80));
	return NULL;
}

void remote_call_end(struct remote_call *call)
{
	struct user_regs_struct r = registers_for_kernel(call->registers);
	struct iovec state = { call->state, call->state_bytes };
	uint64_t waited = 0;
	int status;

	if (call->gone || !call->called)
		return;
	/* The thread is before rt_sigreturn, which restores all of this if we die before the
	 * registers are set; from then on the thread goes on by itself as well. */
	ptrace(PTRACE_SETREGSET, call->tid, (void *)NT_X86_XSTATE, &state);
	ptrace(PTRACE_SETSIGMASK, call->tid, (void *)sizeof(call->mask), &call->mask);
	/* rt_sigreturn is not made; the thread has to stop once more, where the kernel looks
	 * whether a system call goes on, before it takes a signal */
	r.orig_rax = ~UINT64_C(0);
	ptrace(PTRACE_SETREGS, call->tid, NULL, &r);
	ptrace(PTRACE_INTERRUPT, call->tid, NULL, NULL);
	ptrace(PTRACE_CONT, call->tid, NULL, NULL);
	shiny_err_free(wait_stop(call, &waited, &status));
	if (!call->gone)
		ptrace(PTRACE_SETREGS, call->tid, NULL, &call->registers);
}
