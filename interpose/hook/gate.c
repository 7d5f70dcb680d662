/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c: see gate.h. */
#define _GNU_SOURCE
#include "gate.h"

#include <errno.h>

#include "hooks.h"
#include "next.h"
#include "../unwind/symbols.h"

#ifndef SHINY_TEST
/* A way is a gate's target. 0: the hook; ASK: it depends on the caller; else a function's address.
 * All are ASK until the real functions are known. */
#define ASK 1
#define SI_HOOK(id, symbol, result, parameters)
#define SI_GATED(id, symbol, result, parameters) \
	__attribute__((used, visibility("hidden"))) uintptr_t si_way_##id = ASK;
#define SI_GATED_STUB(id, symbol)                                                \
	extern char si_stub_##id[] __attribute__((visibility("hidden")));        \
	__attribute__((used, visibility("hidden"))) uintptr_t si_way_##id = ASK;
#include "hook_list.def"

enum gate_id {
#define SI_HOOK(id, symbol, result, parameters)
#define SI_GATED(id, symbol, result, parameters) GATE_##id,
#define SI_GATED_STUB(id, symbol) GATE_##id,
#include "hook_list.def"
	GATES
};

static const struct gate {
	uintptr_t *way;
	const char *symbol;
	void *const *next;
	const void *hook;
} gates[GATES] = {
#define SI_HOOK(id, symbol, result, parameters)
#define SI_GATED(id, symbol, result, parameters) \
	[GATE_##id] = { &si_way_##id, #symbol, (void *const *)&si_next.id, &si_hook_##id },
#define SI_GATED_STUB(id, symbol) \
	[GATE_##id] = { &si_way_##id, #symbol, &si_next_##id, si_stub_##id },
#include "hook_list.def"
};

static bool ends_blocks(enum gate_id id)
{
	return id == GATE_cfree || id == GATE_free_sized || id == GATE_free_aligned_sized;
}

/* True if the function of that name in `module` may have other arguments than libc's. */
static bool is_foreign(enum gate_id id, const struct link_map *module,
		       const struct link_map *libc)
{
	return module != libc && si_symbols_needed(module) &&
	       !(ends_blocks(id) && si_symbol_in(module, "malloc"));
}

void si_gates_open(void)
{
	static bool opened;
	const struct link_map *libc;

	if (__atomic_load_n(&opened, __ATOMIC_ACQUIRE))
		return;
	si_next_resolve();
	libc = si_libc();
	for (enum gate_id id = 0; id < GATES; id++) {
		const void *next = *gates[id].next;
		const struct link_map *module = next ? si_module_of(next) : NULL;
		uintptr_t way = !next ? ASK
				: module && is_foreign(id, module, libc) ? (uintptr_t)next
								   : 0;

		__atomic_store_n(gates[id].way, way, __ATOMIC_RELEASE);
	}
	__atomic_store_n(&opened, true, __ATOMIC_RELEASE);
}

/* Returns the function that a call of the gate from `pc` is meant for; `way` identifies the
 * gate. */
SI_INTERNAL const void *si_gate_target(const uintptr_t *way, uintptr_t pc);
__attribute__((used)) const void *si_gate_target(const uintptr_t *way, uintptr_t pc)
{
	const struct link_map *module;
	enum gate_id id = 0;
	int saved = errno;
	uintptr_t target;
	const void *own;

	while (gates[id].way != way)
		id++;
	si_gates_open();
	target = __atomic_load_n(way, __ATOMIC_ACQUIRE);
	if (target != ASK)
		return target ? (const void *)target : gates[id].hook;
	own = si_scope_symbol(pc, gates[id].symbol);
	module = own ? si_module_of(own) : NULL;
	errno = saved;
	return module && !si_is_ours(own) && !(ends_blocks(id) && si_symbol_in(module, "malloc"))
		       ? own
		       : gates[id].hook;
}

/*
 * r11 is free between caller and callee. ASK saves the registers that may hold an argument: the
 * integer registers, rax (the number of vector registers of a variable list), r10 (the static
 * chain) and eight vector registers, without the upper halves of wider vectors.
 */
#define GATE(symbol, id, hook)                              \
	__asm__(".pushsection .text\n"                      \
		".globl " symbol "\n"                       \
		".type " symbol ", @function\n"             \
		".p2align 4\n" symbol ":\n"                 \
		"	.cfi_startproc\n"                         \
		"	mov si_way_" id "(%rip), %r11\n"          \
		"	test %r11, %r11\n"                        \
		"	jnz 1f\n"                                 \
		"	jmp " hook "\n"                           \
		"1:	cmp $1, %r11\n" /* ASK */             \
		"	je 2f\n"                                  \
		"	jmp *%r11\n"                              \
		"2:	lea si_way_" id "(%rip), %r11\n"        \
		"	jmp si_gate_ask\n"                        \
		"	.cfi_endproc\n"                           \
		".size " symbol ", . - " symbol "\n"        \
		".popsection");
#define SI_HOOK(id, symbol, result, parameters)
#define SI_GATED(id, symbol, result, parameters) GATE(#symbol, #id, "si_hook_" #id)
#define SI_GATED_STUB(id, symbol) GATE(#symbol, #id, "si_stub_" #id)
#include "hook_list.def"

/* Returns our function, if the module at `pc` precedes us and ours is the next definition after it;
 * else NULL. */
SI_INTERNAL const void *si_gate_next(const char *name, uintptr_t pc);
__attribute__((used)) const void *si_gate_next(const char *name, uintptr_t pc)
{
	const struct link_map *asks = si_module_of((const void *)pc), *own = si_module_of(gates);

	si_next_resolve();
	if (!asks || asks == own)
		return NULL;
	for (const struct link_map *module = own->l_prev; module; module = module->l_prev) {
		if (module == asks)
			return si_symbol_in(own, name);
		if (si_symbol_in(module, name))
			break;
	}
	return NULL;
}

/* -1 is RTLD_NEXT. The real dlvsym has to see its caller. */
__asm__(".pushsection .text\n"
	".globl dlvsym\n"
	".type dlvsym, @function\n"
	".p2align 4\ndlvsym:\n"
	"	.cfi_startproc\n"
	"	push %rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rsi\n	.cfi_adjust_cfa_offset 8\n"
	"	push %rdx\n	.cfi_adjust_cfa_offset 8\n"
	"	xor %eax, %eax\n"
	"	cmp $-1, %rdi\n"
	"	jne 1f\n"
	"	mov %rsi, %rdi\n"
	"	mov 24(%rsp), %rsi\n"
	"	call si_gate_next\n"
	"1:	pop %rdx\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rsi\n	.cfi_adjust_cfa_offset -8\n"
	"	pop %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	test %rax, %rax\n"
	"	jnz 2f\n"
	"	mov si_next_dlvsym(%rip), %r11\n"
	"	jmp *%r11\n"
	"2:	ret\n"
	"	.cfi_endproc\n"
	".size dlvsym, . - dlvsym\n"
	".popsection");

#define KEEP(register) "	push %" register "\n	.cfi_adjust_cfa_offset 8\n"
#define TAKE(register) "	pop %" register "\n	.cfi_adjust_cfa_offset -8\n"
/* Nine registers, 128 bytes and the return address are a multiple of 16. */
__asm__(".pushsection .text\n"
	".type si_gate_ask, @function\n"
	".p2align 4\nsi_gate_ask:\n"
	"	.cfi_startproc\n"
	KEEP("rbx") KEEP("rax") KEEP("rdi") KEEP("rsi") KEEP("rdx") KEEP("rcx") KEEP("r8")
	KEEP("r9") KEEP("r10")
	"	sub $128, %rsp\n	.cfi_adjust_cfa_offset 128\n"
	"	movups %xmm0, (%rsp)\n	movups %xmm1, 16(%rsp)\n"
	"	movups %xmm2, 32(%rsp)\n	movups %xmm3, 48(%rsp)\n"
	"	movups %xmm4, 64(%rsp)\n	movups %xmm5, 80(%rsp)\n"
	"	movups %xmm6, 96(%rsp)\n	movups %xmm7, 112(%rsp)\n"
	"	mov %r11, %rdi\n"
	"	mov 200(%rsp), %rsi\n" /* the return address */
	"	call si_gate_target\n"
	"	mov %rax, %r11\n"
	"	movups (%rsp), %xmm0\n	movups 16(%rsp), %xmm1\n"
	"	movups 32(%rsp), %xmm2\n	movups 48(%rsp), %xmm3\n"
	"	movups 64(%rsp), %xmm4\n	movups 80(%rsp), %xmm5\n"
	"	movups 96(%rsp), %xmm6\n	movups 112(%rsp), %xmm7\n"
	"	add $128, %rsp\n	.cfi_adjust_cfa_offset -128\n"
	TAKE("r10") TAKE("r9") TAKE("r8") TAKE("rcx") TAKE("rdx") TAKE("rsi") TAKE("rdi")
	TAKE("rax") TAKE("rbx")
	"	jmp *%r11\n"
	"	.cfi_endproc\n"
	".size si_gate_ask, . - si_gate_ask\n"
	".popsection");
#else
void si_gates_open(void)
{
}
#endif
