/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_probe_collector.c: what the probe says of a collector's functions written by hand below:
 * free lists, the compactor's calls, resizing and freeing, and their near misses; and of node's,
 * whose symbols say which they are.
 *
 * The functions are this program's own and are read out of its file; they are never run.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../symbolizer/probe/probe_explicit.h"
#include "../../symbolizer/probe/probe_free.h"
#include "../../symbolizer/probe/probe_move.h"
#include "check.h"

static uintptr_t base;

#define FUNCTION(name, text)                                                                 \
	extern const char name[];                                                            \
	__asm__(".text\n.p2align 4, 0xcc\n.globl " #name "\n.hidden " #name "\n.type " #name \
		", @function\n" #name ":\n" text "\nint3\nint3\n.size " #name ", . - " #name "\n")
#define PLACE(name) extern const char name[]

/* ---- free lists: f(list, address, bytes) ---- */
#define ADDS(least, next, pushed, biggest)                                                         \
	"push %rbp\nmov %rsp, %rbp\ncmp $" least ", %rdx\njb 1f\nmov %edx, (%rsi)\nmovq $0, " next \
	"(%rsi)\nbsr %rdx, %rcx\nmov (%rdi,%rcx,8), %rax\n"                                        \
	"mov %rax, 8(%rsi)\nmov " pushed ", (%rdi,%rcx,8)\ncmp " biggest                           \
	"(%rdi), %rcx\njbe 1f\nmov %rcx, " biggest "(%rdi)\n1: pop %rbp\nret"
FUNCTION(adds, ADDS("16", "8", "%rsi", "0x110"));
FUNCTION(adds_small, ADDS("8", "8", "%rsi", "0x110"));
FUNCTION(adds_nothing, ADDS("16", "8", "%rcx", "0x110"));
FUNCTION(adds_elsewhere, ADDS("16", "8", "%rsi", "0x118"));

/* ---- the compactor: header in %r12, frontier in %r14, size in %r15 ---- */
#define HEADER "push %rbp\nmov %rsp, %rbp\nmov %rdi, %r12\nmov %rsi, %r13\n"
#define SIZE(load, shift)                                 \
	"movzwl " load "(%r12), %eax\nlea 0(,%rax," shift \
	"), %r15d\nand $0x3fff8, %r15d\ntest $1, %al\nje 9f\n"
#define FRONTIER "mov %r13, %rdi\ncall payload_start\nmov %rax, %r14\nadd -0x20(%rbp), %r14\n"
#define COMPARE "cmp %r12, %r14\nje 8f\n"
#define COPY(name, to, from, size, first, second)                                                  \
	"cmp %r13, -0x18(%rbp)\nje 7f\nmov " to ", %rdi\nmov " from ", %rsi\nmov " size            \
	", %rdx\n" name "_far: call " first "@PLT\njmp 8f\n"                                       \
	"7: mov " to ", %rdi\nmov " from ", %rsi\nmov " size ", %rdx\n" name "_near: call " second \
	"@PLT\n"
#define END "8: add %r15, %r12\n9: pop %rbp\nret"
FUNCTION(payload_start, "lea 0x848(%rdi), %rax\nret");
#define ASIDE "mov %r15, -0x30(%rbp)\nxor %r15d, %r15d\n" FRONTIER "mov -0x30(%rbp), %r15\n"
FUNCTION(compactor, HEADER SIZE("6", "4") ASIDE COMPARE COPY("compactor", "%r14", "%r12", "%r15",
							     "memcpy", "memmove") END);
PLACE(compactor_far);
PLACE(compactor_near);
FUNCTION(size_of_other,
	 HEADER SIZE("4", "4") FRONTIER COMPARE COPY("size_of_other", "%r14", "%r12", "%r15",
						     "memcpy", "memmove") END);
FUNCTION(size_twice, HEADER SIZE("6", "8") FRONTIER COMPARE COPY("size_twice", "%r14", "%r12",
								 "%r15", "memcpy", "memmove") END);
FUNCTION(not_compared, HEADER SIZE("6", "4") FRONTIER COPY("not_compared", "%r14", "%r12", "%r15",
							   "memcpy", "memmove") END);
FUNCTION(the_other_way,
	 HEADER SIZE("6", "4") FRONTIER COMPARE COPY("the_other_way", "%r12", "%r14", "%r15",
						     "memcpy", "memmove") END);
FUNCTION(changed_aside,
	 HEADER SIZE("6", "4") "mov %r15, -0x30(%rbp)\nmov %r13, -0x30(%rbp)\n" FRONTIER
			       "mov -0x30(%rbp), %r15\n" COMPARE COPY("changed_aside", "%r14",
								      "%r12", "%r15", "memcpy",
								      "memmove") END);
FUNCTION(only_memcpy, HEADER SIZE("6", "4") FRONTIER COMPARE COPY("only_memcpy", "%r14", "%r12",
								  "%r15", "memcpy", "memcpy") END);
FUNCTION(changed_since, HEADER SIZE("6", "4") FRONTIER COMPARE
	 "add $8, %r14\n" COPY("changed_since", "%r14", "%r12", "%r15", "memcpy", "memmove") END);

/* ---- resizing: f(object, bytes); freeing: f(heap, object), with a place in it that looks like a
 * beginning ---- */
#define RESIZES(plus, back)                                                                     \
	"push %rbp\nmov %rsp, %rbp\npush %rbx\npush %r14\npush %r15\npush %rax\nmov %rsi, "     \
	"%r15\nmov %rdi, %r14\nmov %rdi, %rbx\n"                                                \
	"and $-0x20000, %rbx\nmov %rbx, %rdi\ncall payload_start\ntest %rax, %rax\nje 1f\nadd " \
	"$" plus ", %r15\nmov %r15, %rax\nand $-8, %rax\n"                                      \
	"movzwl -2(%r14), %ecx\nshl $2, %ecx\nsub %rcx, %rax\njbe 1f\nmov %si, " back           \
	"(%r14)\n1: pop %rax\npop %r15\npop %r14\npop %rbx\npop %rbp\nret"
FUNCTION(resizes, RESIZES("15", "-2"));
FUNCTION(resizes_unrounded, RESIZES("16", "-2"));
FUNCTION(resizes_nothing, RESIZES("15", "-4"));
#define RELEASES(header, to)                                                                  \
	"cmpb $0, 0x1e0(%rdi)\njne 1f\nmov %rdi, %rax\n.p2align 4\n1: push %rbp\nmov %rsp, "  \
	"%rbp\npush %rbx\npush %r14\npush %r15\npush %rax\nmov %rsi, %r15\nlea " header       \
	"(%r15), %rbx\nmov %r15, %r14\n"                                                      \
	"and $-0x20000, %r14\nmovzwl -2(%r15), %r15d\nshl $2, %r15d\nmov 8(%r14), %rdi\nmov " \
	"%rbx, %rsi\nmov %r15, %rdx\npop %rax\npop %r15\n"                                    \
	"pop %r14\npop %rbx\npop %rbp\njmp " to
FUNCTION(releases, RELEASES("-8", "adds"));
FUNCTION(releases_object, RELEASES("-16", "adds"));
FUNCTION(releases_elsewhere, RELEASES("-8", "payload_start"));

static int find_base(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(uintptr_t *)out = info->dlpi_addr;
	return 1;
}

static void look(const struct binary *file, uint64_t allocate, struct probe_draft *draft)
{
	struct reloc_index relocs;

	probe_draft_init(draft);
	draft->head.entries[draft->head.entry_count++] =
		(struct shiny_probe_entry){ .vaddr = allocate, .kind = SHINY_PROBE_ALLOCATE };
	reloc_index_init(&relocs, file);
	probe_free(file, draft);
	probe_move(file, &relocs, draft);
	probe_explicit(file, draft);
	reloc_index_deinit(&relocs);
}

/* The addresses of a kind, by address: "1234 5678". */
static const char *found(const struct probe_draft *draft, enum shiny_probe_kind kind)
{
	static char text[256];
	size_t used = 0;
	uint64_t last = 0;

	text[0] = 0;
	for (;;) {
		uint64_t next = UINT64_MAX;

		for (uint32_t i = 0; i < draft->head.entry_count; i++)
			if (draft->head.entries[i].kind == kind &&
			    draft->head.entries[i].vaddr > last &&
			    draft->head.entries[i].vaddr < next)
				next = draft->head.entries[i].vaddr;
		if (next == UINT64_MAX || used > sizeof(text) - 24)
			return text;
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%" PRIx64,
					 used ? " " : "", next);
		last = next;
	}
}

static void expect(const struct probe_draft *draft, const char *name, enum shiny_probe_kind kind,
		   uint64_t first, uint64_t second)
{
	char text[64];

	if (second)
		snprintf(text, sizeof(text), "%" PRIx64 " %" PRIx64,
			 first < second ? first : second, first < second ? second : first);
	else
		snprintf(text, sizeof(text), "%" PRIx64, first);
	check(name, !strcmp(found(draft, kind), text), found(draft, kind));
}

static void own(void)
{
	struct probe_draft draft;
	struct binary file;

	dl_iterate_phdr(find_base, &base);
	if (binary_open(&file, "/proc/self/exe") != BINARY_OK) {
		check("own", false, "its file can't be read");
		return;
	}
	look(&file, (uintptr_t)adds - base, &draft);
	expect(&draft, "own/free", SHINY_PROBE_FREE, (uintptr_t)adds - base, 0);
	expect(&draft, "own/move", SHINY_PROBE_MOVE, (uintptr_t)compactor_far - base,
	       (uintptr_t)compactor_near - base);
	expect(&draft, "own/resize", SHINY_PROBE_RESIZE, (uintptr_t)resizes - base, 0);
	expect(&draft, "own/release", SHINY_PROBE_RELEASE, (uintptr_t)releases - base, 0);
	for (size_t i = 0; i < draft.recipes.count; i++) {
		const struct shiny_patch_recipe *r = &draft.recipes.at[i];

		check("own/recipe",
		      r->call == (draft.head.entries[i + 1].kind == SHINY_PROBE_MOVE) &&
			      r->displaced >= SHINY_PATCH_JUMP,
		      "it is of another form");
	}
	probe_draft_deinit(&draft);
	/* far from all this nothing is found, and notes say so */
	look(&file, 0, &draft);
	check("own/nowhere", draft.head.entry_count == 1, "something was found");
	probe_draft_deinit(&draft);
	binary_close(&file);
}

/* A symbol's address and end, out of what nm says; 0: it has none such. */
static uint64_t symbol(const char *path, const char *name, uint64_t *end)
{
	char command[512], line[4096];
	uint64_t vaddr = 0, bytes = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "nm -CS '%s' 2>&1", path);
	pipe = popen(command, "r");
	while (pipe && fgets(line, sizeof(line), pipe))
		if (strstr(line, name) && strlen(line) > 36 &&
		    !strncmp(line + 36, name, strlen(name))) {
			vaddr = strtoull(line, NULL, 16);
			bytes = strtoull(line + 17, NULL, 16);
		}
	if (pipe)
		pclose(pipe);
	if (end)
		*end = vaddr + bytes;
	return vaddr;
}

static void node(void)
{
	static const char path[] = "/usr/bin/node";
	uint64_t allocate = symbol(path,
				   "cppgc::internal::MakeGarbageCollectedTraitInternal::Allocate("
				   "cppgc::AllocationHandle&, unsigned long, unsigned short)",
				   NULL);
	uint64_t end,
		start = symbol(path, "cppgc::internal::Compactor::CompactSpacesIfEnabled()", &end);
	struct probe_draft draft;
	struct binary file;
	unsigned moves = 0;

	if (!allocate || !start || binary_open(&file, path) != BINARY_OK) {
		printf("skip node: it is not there, or has no symbols\n");
		return;
	}
	look(&file, allocate, &draft);
	expect(&draft, "node/free", SHINY_PROBE_FREE,
	       symbol(path, "cppgc::internal::FreeList::Add(cppgc::internal::FreeList::Block)",
		      NULL),
	       symbol(path,
		      "cppgc::internal::FreeList::AddReturningUnusedBounds(cppgc::internal::"
		      "FreeList::Block)",
		      NULL));
	expect(&draft, "node/resize", SHINY_PROBE_RESIZE,
	       symbol(path, "cppgc::internal::ExplicitManagementImpl::Resize(void*, unsigned long)",
		      NULL),
	       0);
	expect(&draft, "node/release", SHINY_PROBE_RELEASE,
	       symbol(path,
		      "cppgc::internal::ExplicitManagementImpl::FreeUnreferencedObject(cppgc::"
		      "HeapHandle&, void*)",
		      NULL),
	       0);
	for (uint32_t i = 0; i < draft.head.entry_count; i++)
		if (draft.head.entries[i].kind == SHINY_PROBE_MOVE)
			moves += draft.head.entries[i].vaddr >= start &&
						 draft.head.entries[i].vaddr < end
					 ? 1
					 : 100;
	check("node/moves", moves == 2, found(&draft, SHINY_PROBE_MOVE));
	probe_draft_deinit(&draft);
	binary_close(&file);
}

int main(void)
{
	own();
	node();
	return failures != 0;
}
