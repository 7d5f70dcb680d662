/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_flow_live.c: what flow says about where a pointer is, against a processor that runs the
 * code.
 *
 * A program of 36 ways to allocate is single-stepped from behind each call that returns a block to
 * where flow's walk ends. In front of each instruction every register and slot that is said to hold
 * the pointer must hold it, rsp must be where it is said to be, and a fact that is said to be
 * certain must come true: the argument of the call, the value in memory behind the store, rax at
 * the return. Calls are run, not stepped through. Skipped where ptrace is refused.
 */
#include "fixtures/sym_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

#include "../../symbolizer/flow/flow.h"
#include "../../symbolizer/flow/flow_code.h"

enum { SITES_MAX = 4096, STEPS_MAX = 3000, INT3 = 0xcc, TRACE_REFUSED = 77 };

struct site {
	uint64_t ret, low, high; /* of the function */
	uint8_t saved;           /* the byte under the breakpoint */
	bool done;
};

static struct binary file;
static struct reloc_index relocs;
static struct symtab symtab;
static const struct flow_code code = { &file, &relocs, &symtab };
static struct site sites[SITES_MAX];
static size_t site_count;
static pid_t pid;
static uint64_t bias;
static bool gone; /* the program has ended */

static struct { unsigned followed, steps, claims, slots, wrong, facts, false_facts; } counts;
static char first_wrong[200];

static void __attribute__((format(printf, 1, 2))) wrong(const char *format, ...)
{
	va_list arguments;

	if (*first_wrong)
		return;
	va_start(arguments, format);
	vsnprintf(first_wrong, sizeof(first_wrong), format, arguments);
	va_end(arguments);
}

/* ---- the traced program ---- */

static uint64_t peek(uint64_t address)
{
	errno = 0;
	return (uint64_t)ptrace(PTRACE_PEEKDATA, pid, address, 0);
}

/* Returns the byte that was there. */
static uint8_t poke(uint64_t address, uint8_t byte)
{
	uint64_t word = peek(address);

	ptrace(PTRACE_POKEDATA, pid, address, (word & ~UINT64_C(0xff)) | byte);
	return (uint8_t)word;
}

/* Lets it go on (PTRACE_CONT or PTRACE_SINGLESTEP) up to the next trap. False: it has ended. */
static bool resume(enum __ptrace_request how, struct user_regs_struct *registers)
{
	int status, signal = 0;

	while (!gone) {
		if (ptrace(how, pid, 0, signal) || waitpid(pid, &status, 0) != pid ||
		    !WIFSTOPPED(status)) {
			gone = true;
			break;
		}
		signal = WSTOPSIG(status);
		if (signal == SIGTRAP)
			return !ptrace(PTRACE_GETREGS, pid, 0, registers);
	}
	return false;
}

/* Takes the breakpoint that was hit back out, and the program to in front of the instruction. */
static void back(struct user_regs_struct *registers, uint8_t byte)
{
	registers->rip--;
	poke(registers->rip, byte);
	ptrace(PTRACE_SETREGS, pid, 0, registers);
}

static uint64_t in_register(const struct user_regs_struct *r, unsigned number)
{
	const unsigned long long values[FLOW_REGISTERS] = { r->rax, r->rdx, r->rcx, r->rbx,
							    r->rsi, r->rdi, r->rbp, r->rsp,
							    r->r8,  r->r9,  r->r10, r->r11,
							    r->r12, r->r13, r->r14, r->r15 };

	return values[number];
}

/* ---- comparing ---- */

static void compare_state(const struct flow_state *state, const struct user_regs_struct *now,
			  const struct user_regs_struct *start)
{
	uint64_t pointer = start->rax;

	for (unsigned i = 0; i < FLOW_REGISTERS; i++) {
		if (!(state->registers & 1u << i))
			continue;
		counts.claims++;
		if (in_register(now, i) != pointer + (uint64_t)(int64_t)state->offsets[i]) {
			counts.wrong++;
			wrong("at 0x%llx register %u isn't the pointer%+d",
			      (unsigned long long)state->vaddr, i, state->offsets[i]);
		}
	}
	for (unsigned i = 0; i < state->slot_count; i++) {
		const struct flow_slot *slot = &state->slots[i];
		uint64_t base = slot->base == FLOW_RSP ? start->rsp : start->rbp,
			 at = base + (uint64_t)slot->displacement;

		if (slot->base == FLOW_RSP && at < now->rsp)
			continue; /* popped */
		counts.slots++;
		if (peek(at) != pointer + (uint64_t)slot->offset) {
			counts.wrong++;
			wrong("at 0x%llx slot %lld isn't the pointer",
			      (unsigned long long)state->vaddr, (long long)slot->displacement);
		}
	}
	if (state->rsp != FLOW_RSP_UNKNOWN && start->rsp + (uint64_t)state->rsp != now->rsp) {
		counts.wrong++;
		wrong("at 0x%llx rsp isn't where it is said to be",
		      (unsigned long long)state->vaddr);
	}
}

static void fact_is(bool right, const struct flow_fact *fact)
{
	counts.facts += right;
	counts.false_facts += !right;
	if (!right)
		wrong("at 0x%llx fact of kind %u doesn't come true",
		      (unsigned long long)fact->vaddr, fact->kind);
}

/* In front of the instruction. */
static void compare_before(const struct flow_fact *fact, const struct user_regs_struct *now,
			   uint64_t pointer)
{
	static const unsigned arguments[FLOW_ARGUMENTS] = { FLOW_RDI, FLOW_RSI, FLOW_RDX,
							    FLOW_RCX, 8,	9 };

	if (fact->kind == FLOW_CALL || fact->kind == FLOW_JUMP)
		fact_is(in_register(now, arguments[fact->argument]) ==
				pointer + (uint64_t)fact->offset,
			fact);
	else if (fact->kind == FLOW_RETURN)
		fact_is(now->rax == pointer + (uint64_t)fact->offset, fact);
}

/* Behind it. */
static void compare_behind(const struct flow_fact *fact, const struct user_regs_struct *before,
			   uint64_t pointer)
{
	if (fact->kind == FLOW_STORE && !fact->scale && (fact->base != FLOW_NONE || fact->value)) {
		uint64_t at = fact->base == FLOW_NONE ? fact->value + bias
						      : in_register(before, fact->base) +
								(uint64_t)fact->displacement;

		fact_is(peek(at) == pointer + (uint64_t)fact->offset, fact);
	} else if (fact->kind == FLOW_VTABLE && fact->value) {
		fact_is(peek(pointer + (uint64_t)fact->offset) == fact->value + bias, fact);
	}
}

/* Over a call, up to its return into this frame. False: it doesn't come back here. */
static bool run_call(uint64_t ret, uint64_t rsp, struct user_regs_struct *registers)
{
	uint8_t byte = poke(ret, INT3);

	while (resume(PTRACE_CONT, registers)) {
		if (registers->rip - 1 != ret)
			return false;
		back(registers, byte);
		if (registers->rsp >= rsp)
			return registers->rsp == rsp;
		/* a recursive call's */
		if (!resume(PTRACE_SINGLESTEP, registers))
			return false;
		poke(ret, INT3);
	}
	return false;
}

static void follow(const struct site *site, const struct user_regs_struct *start)
{
	struct user_regs_struct now = *start;
	bool seen[FLOW_FACTS] = { false };
	struct flow flow;

	if (!start->rax || !flow_follow(&code, site->ret, site->low, site->high, 0, 0, &flow))
		return;
	counts.followed++;
	for (unsigned step = 0; step < STEPS_MAX && !gone; step++) {
		const struct flow_state *state = flow_at(&flow, now.rip - bias);
		struct user_regs_struct before = now;
		struct flow_instruction instruction;

		/* once around a loop it is another block's turn */
		if (!state || (step && now.rip - bias == site->ret) ||
		    !flow_decode(&code, state->vaddr, &instruction))
			break;
		compare_state(state, &now, start);
		for (size_t i = 0; i < flow.fact_count; i++)
			if (flow.facts[i].vaddr == state->vaddr && flow.facts[i].certain &&
			    !seen[i])
				compare_before(&flow.facts[i], &now, start->rax);
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_RET)
			break;
		if (!resume(PTRACE_SINGLESTEP, &now))
			break;
		counts.steps++;
		if (instruction.decoded.meta.category == ZYDIS_CATEGORY_CALL &&
		    !run_call(before.rip + instruction.decoded.length, before.rsp, &now))
			break;
		for (size_t i = 0; i < flow.fact_count; i++) {
			if (flow.facts[i].vaddr != state->vaddr || !flow.facts[i].certain ||
			    seen[i])
				continue;
			compare_behind(&flow.facts[i], &before, start->rax);
			seen[i] = true;
		}
	}
	flow_deinit(&flow);
}

/* ---- programs ---- */

static void note_site(void *context, uint64_t ret)
{
	const struct symbol *function = symbols_find(&symtab.functions, ret - 1);

	if (function && site_count < SITES_MAX)
		sites[site_count++] = (struct site){ .ret = ret,
						     .low = function->value,
						     .high = function->value + function->size };
}

static uint64_t auxiliary(uint64_t type)
{
	char path[64];
	uint64_t pair[2], found = 0;
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	in = fopen(path, "r");
	while (in && fread(pair, sizeof(pair), 1, in) == 1)
		if (pair[0] == type)
			found = pair[1];
	if (in)
		fclose(in);
	return found;
}

/* Starts the program and lets it load its libraries. False: ptrace is refused. */
static bool start(const char *path, uint64_t entry)
{
	struct user_regs_struct registers;
	int status;
	uint8_t byte;

	gone = false;
	pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(TRACE_REFUSED);
		execl(path, path, (char *)NULL);
		_exit(126);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return false;
	bias = auxiliary(9 /* AT_ENTRY */) - entry;
	byte = poke(entry + bias, INT3);
	if (resume(PTRACE_CONT, &registers))
		back(&registers, byte);
	return true;
}

static void breakpoints(bool in)
{
	for (size_t i = 0; i < site_count && !gone; i++) {
		if (sites[i].done)
			continue;
		if (in)
			sites[i].saved = poke(sites[i].ret + bias, INT3);
		else
			poke(sites[i].ret + bias, sites[i].saved);
	}
}

static void run(void)
{
	struct user_regs_struct registers;

	breakpoints(true);
	while (resume(PTRACE_CONT, &registers)) {
		size_t i = 0;

		while (i < site_count && sites[i].ret + bias != registers.rip - 1)
			i++;
		if (i == site_count)
			break;
		breakpoints(false); /* nothing but the program's own code is stepped through */
		sites[i].done = true;
		registers.rip--;
		ptrace(PTRACE_SETREGS, pid, 0, &registers);
		follow(&sites[i], &registers);
		breakpoints(true);
	}
	if (!gone) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

/* False: ptrace is refused. */
static bool program(const char *name, const char *compiler, const char *flags)
{
	const struct sym_options options = { .no_cache = true };
	struct sym *sym;
	Elf64_Shdr section;
	char path[300];
	bool traced;

	if (!fixture_have(compiler)) {
		fixture_skip(name, compiler);
		return true;
	}
	if (!fixture_run("%s -std=c++17 %s -fno-omit-frame-pointer \"$OLDPWD\"/%s/site_types.cc -o "
			 "program",
			 compiler, flags, fixture_source())) {
		fixture_result(false, name, "can't be built");
		return true;
	}
	snprintf(path, sizeof(path), "%s/program", fixture_dir);
	memset(&counts, 0, sizeof(counts));
	*first_wrong = 0;
	site_count = 0;
	symtab = (struct symtab){ 0 };
	if (binary_open(&file, path) != BINARY_OK)
		exit(1);
	reloc_index_init(&relocs, &file);
	for (size_t i = 0; binary_section(&file, i, &section); i++)
		if (section.sh_type == SHT_SYMTAB || section.sh_type == SHT_DYNSYM)
			symtab_add(&symtab, &file, &section);
	symtab_finish(&symtab, &file);
	sym = fixture_sym(&options);
	sym_allocation_calls(fixture_open(sym, path), note_site, NULL);
	sym_destroy(sym);
	traced = start(path, ((const Elf64_Ehdr *)file.data)->e_entry);
	if (traced) {
		run();
		printf("# %s: %u of %zu call sites, %u instructions: %u registers, %u slots, %u "
		       "facts; wrong: %u, %u\n",
		       name, counts.followed, site_count, counts.steps, counts.claims, counts.slots,
		       counts.facts, counts.wrong, counts.false_facts);
		fixture_result(!counts.wrong && !counts.false_facts, name,
			       "%u wrong, %u facts false; %s", counts.wrong, counts.false_facts,
			       first_wrong);
		snprintf(path, sizeof(path), "%s: enough", name);
		fixture_result(counts.followed >= 30 && counts.claims >= 300 && counts.facts >= 20,
			       path, "%u sites, %u registers, %u facts", counts.followed,
			       counts.claims, counts.facts);
	}
	symtab_deinit(&symtab);
	reloc_index_deinit(&relocs);
	binary_close(&file);
	return traced;
}

int main(void)
{
	bool traced;

	fixture_begin();
	traced = program("gcc -O0", "g++", "-O0") && program("gcc -O2", "g++", "-O2") &&
		 program("gcc -Os", "g++", "-Os") && program("clang -O0", "clang++", "-O0") &&
		 program("clang -O2", "clang++", "-O2") &&
		 program("clang -O3", "clang++", "-O3 -fno-plt");
	if (!traced && !fixture_failures) {
		fixture_end();
		printf("skip live: ptrace is refused here\n");
		return 77;
	}
	return fixture_end();
}
