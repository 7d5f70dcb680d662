/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_probe.c: what the probe says of functions written by hand below: makers of objects,
 * registrars, name callbacks, and their near misses; the sweep's places against a search byte by
 * byte; a result's way through the cache's file.
 *
 * The functions are this program's own and are read out of its file; they are never run.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../symbolizer/elf/cache_file.h"
#include "../../symbolizer/probe/probe_entries.h"
#include "../../symbolizer/probe/probe_file.h"
#include "../../symbolizer/probe/probe_names.h"
#include "../../symbolizer/probe/probe_sweep.h"
#include "../../symbolizer/probe/probe_vtables.h"
#include "check.h"

static struct binary file;
static struct eval_world world;
static uintptr_t base;

#define FUNCTION(name, text)                                                           \
	extern const char name[];                                                      \
	__asm__(".text\n.p2align 4\n.globl " #name "\n.hidden " #name "\n.type " #name \
		", @function\n" #name ":\n" text "\nint3\nint3\n.size " #name ", . - " #name "\n")

__asm__(".section .rodata.probe, \"a\"\n.Ltext: .asciz \"tests::Name\"\n.Lhidden: .asciz "
	"\"InternalNode\"\n.Lodd: .asciz \"tab\\there\"\n"
	".Lempty: .asciz \"\"\n.data\n.Lwritable: .asciz \"tests::Writable\"\n.p2align "
	"3\n.Lglobal: .quad 0\n.text\n");

/* ---- makers of objects: argument 1 is the size ---- */
#define PLACE "mov (%rdi), %r9\nmov 0x40(%r9), %rax\n"
FUNCTION(maker, "push %rbp\nmov %rsp, %rbp\nadd $15, %rsi\nand $-8, %rsi\n" PLACE
		"cmp %rsi, 0x48(%r9)\njb 1f\nmovl $0, (%rax)\nmov %si, 6(%rax)\nmovzwl %dx, "
		"%ecx\ncmp $0x4000, %ecx\njae 2f\nmov %cx, 4(%rax)\n"
		"add $8, %rax\npop %rbp\nret\n1: call maker\npop %rbp\nret\n2: ud2");
FUNCTION(maker_of_words,
	 "lea 15(%rsi), %r10\n" PLACE
	 "movzwl %dx, %ecx\nshl $32, %rcx\nand $0x3fff8, %r10d\nshl $46, %r10\nor %rcx, %r10\n"
	 "mov %r10, (%rax)\nadd $8, %rax\nret");
FUNCTION(maker_aligned,
	 "lea 15(%rsi), %r10\n" PLACE
	 "mov %r10w, 6(%rax)\nlea 0(,%rcx,4), %edx\nmov %dx, 4(%rax)\nlea 8(%rax), %rax\nret");
FUNCTION(maker_in_a_jump, "test %rsi, %rsi\njmp maker");
FUNCTION(maker_late, "lea 15(%rsi), %r10\ntest %rdi, %rdi\njne 1f\nxor %eax, %eax\nret\n1:\n" PLACE
		     "mov %dx, 4(%rax)\nadd $8, %rax\nret");
/* near misses */
FUNCTION(returns_start, "lea 15(%rsi), %r10\n" PLACE "mov %dx, 4(%rax)\nret");
FUNCTION(returns_other, "lea 15(%rsi), %r10\n" PLACE "mov %dx, 4(%rax)\nmov 8(%r9), %rax\nret");
FUNCTION(stores_nothing, "lea 15(%rsi), %r10\n" PLACE "movw $7, 4(%rax)\nadd $8, %rax\nret");
FUNCTION(stores_two,
	 "lea 15(%rsi), %r10\n" PLACE "mov %dx, 4(%rax)\nmov %cx, 6(%rax)\nadd $8, %rax\nret");
FUNCTION(without_size, PLACE "mov %dx, 4(%rax)\nadd $8, %rax\nret");
FUNCTION(only_a_byte, "lea 15(%rsi), %r10\n" PLACE "mov %dl, 4(%rax)\nadd $8, %rax\nret");
FUNCTION(overwritten,
	 "lea 15(%rsi), %r10\n" PLACE "mov %dx, 4(%rax)\nmovw $0, 4(%rax)\nadd $8, %rax\nret");
FUNCTION(not_its_argument,
	 "lea 15(%rsi), %r10\nmov 8(%rdi), %edx\n" PLACE "mov %dx, 4(%rax)\nadd $8, %rax\nret");
FUNCTION(endless, "1: dec %rdi\njne 1b\njmp endless");

static void check_maker(const char *name, const char *at, const char *expected)
{
	struct entry_allocates facts;
	char got[128] = "no";

	if (entry_allocates(&world, (uintptr_t)at - base, &facts))
		snprintf(got, sizeof(got), "size %u index %u used %#x at %u shift %u limit %u",
			 facts.size, facts.index, facts.used, facts.header_at, facts.header_shift,
			 facts.limit);
	check(name, !strcmp(got, expected), got);
}

static void check_makers(void)
{
#define MAKER(function, expected) check_maker("maker/" #function, function, expected)
	MAKER(maker, "size 1 index 2 used 0x7 at 4 shift 0 limit 16384");
	MAKER(maker_of_words, "size 1 index 2 used 0x7 at 4 shift 0 limit 0");
	MAKER(maker_aligned, "size 1 index 3 used 0xb at 4 shift 2 limit 0");
	MAKER(maker_in_a_jump, "size 1 index 2 used 0x7 at 4 shift 0 limit 16384");
	MAKER(maker_late, "size 1 index 2 used 0x3 at 4 shift 0 limit 0");
	MAKER(returns_start, "no");
	MAKER(returns_other, "no");
	MAKER(stores_nothing, "no");
	MAKER(stores_two, "no");
	MAKER(without_size, "no");
	MAKER(only_a_byte, "no");
	MAKER(overwritten, "no");
	MAKER(not_its_argument, "no");
	MAKER(endless, "no");
}

/* ---- registrars ---- */
#define TELL "lea -0x20(%rbp), %rdx\nmov %rdi, %rsi\nmov .Lglobal(%rip), %rdi\n"
#define BEGIN "push %rbp\nmov %rsp, %rbp\nsub $0x20, %rsp\n"
FUNCTION(registrar,
	 BEGIN "mov %rdx, -0x20(%rbp)\nmov %rsi, -0x18(%rbp)\nmov %rcx, -0x10(%rbp)\n" TELL
	       "call maker\nleave\nret");
FUNCTION(registrar_of_two,
	 BEGIN "movq $0, -0x20(%rbp)\nmov %rsi, -0x18(%rbp)\nmov %rdx, -0x10(%rbp)\n" TELL
	       "call maker\nadd $0x20, %rsp\npop %rbp\nret");
FUNCTION(registrar_in_vectors,
	 "push %rbp\nmovq %rsi, %xmm1\nmovq %rdx, %xmm0\npunpcklqdq %xmm1, %xmm0\nmov %rsp, "
	 "%rbp\nsub $0x20, %rsp\n"
	 "mov %rcx, -0x10(%rbp)\nmovaps %xmm0, -0x20(%rbp)\n" TELL "call maker\nleave\nret");
FUNCTION(forgets_trace,
	 BEGIN "mov %rdx, -0x20(%rbp)\nmov %rcx, -0x10(%rbp)\n" TELL "call maker\nleave\nret");
FUNCTION(returns_something, BEGIN "mov %rdx, -0x20(%rbp)\nmov %rsi, -0x18(%rbp)\n" TELL
				  "call maker\nxor %eax, %eax\nleave\nret");
FUNCTION(no_table, BEGIN "mov %rdx, -0x20(%rbp)\nmov %rsi, -0x18(%rbp)\nlea -0x20(%rbp), %rdx\nmov "
			 "%rdi, %rsi\ncall maker\nleave\nret");

static void check_registrar(const char *name, const char *at, const char *expected)
{
	struct entry_registers facts;
	char got[128] = "no";

	if (entry_registers(&world, (uintptr_t)at - base, &facts))
		snprintf(got, sizeof(got), "slot %d trace %d finalizer %d name %d inner %s",
			 facts.slot, facts.trace, (int8_t)facts.finalizer, (int8_t)facts.name,
			 facts.inner == (uintptr_t)maker - base ? "right" : "wrong");
	check(name, !strcmp(got, expected), got);
}

static void check_registrars(void)
{
#define REGISTRAR(function, expected) check_registrar("registrar/" #function, function, expected)
	REGISTRAR(registrar, "slot 0 trace 1 finalizer 2 name 3 inner right");
	REGISTRAR(registrar_of_two, "slot 0 trace 1 finalizer -1 name 2 inner right");
	REGISTRAR(registrar_in_vectors, "slot 0 trace 1 finalizer 2 name 3 inner right");
	REGISTRAR(forgets_trace, "no");
	REGISTRAR(returns_something, "no");
	REGISTRAR(no_table, "no");
	REGISTRAR(endless, "no");
}

/* ---- name callbacks ---- */
#define BOTH "lea .Lhidden(%rip), %rcx\nlea .Ltext(%rip), %rax\n"
FUNCTION(by_move, "push %rbp\nmov %rsp, %rbp\ncmp $1, %esi\nsete %dl\n" BOTH
		  "cmove %rcx, %rax\npop %rbp\nret");
FUNCTION(by_branch, "test %esi, %esi\njne 1f\nlea .Ltext(%rip), %rax\nxor %edx, %edx\nret\n1: lea "
		    ".Lhidden(%rip), %rax\nmov $1, %dl\nret");
FUNCTION(by_decrement, "dec %esi\n" BOTH "cmove %rcx, %rax\nmov $0, %edx\nsete %dl\nret");
FUNCTION(always_hidden, "mov $1, %edx\nlea .Lhidden(%rip), %rax\nret");
FUNCTION(always_named, "xor %edx, %edx\nlea .Ltext(%rip), %rax\nret");
FUNCTION(elsewhere, "nop\njmp by_move");
FUNCTION(asks, "push %rbp\nmov %rsp, %rbp\nmov (%rdi), %rax\ncall *0x18(%rax)\nxor %edx, %edx\npop "
	       "%rbp\nret");
FUNCTION(asks_base, "lea 0x30(%rdi), %rax\ntest %rdi, %rdi\ncmovne %rax, %rdi\nmov (%rdi), "
		    "%rax\njmp *0x10(%rax)");
FUNCTION(calls_somebody, "call maker\nxor %edx, %edx\nret");
FUNCTION(unknown_condition, "cmpl $1, 8(%rdi)\n" BOTH "cmove %rcx, %rax\nxor %edx, %edx\nret");
FUNCTION(odd_text, "xor %edx, %edx\nlea .Lodd(%rip), %rax\nret");
FUNCTION(empty_text, "xor %edx, %edx\nlea .Lempty(%rip), %rax\nret");
FUNCTION(writable_text, "xor %edx, %edx\nlea .Lwritable(%rip), %rax\nret");

static void check_name(const char *name, const char *at, const char *expected)
{
	struct callback_name n = callback_name(&world, (uintptr_t)at - base);
	char got[128];

	snprintf(got, sizeof(got), "%s hidden %s", n.name ? n.name : "-",
		 n.hidden ? n.hidden : "-");
	if (n.naming == SHINY_PROBE_NAME_VIRTUAL)
		snprintf(got, sizeof(got), "asks %u %u", n.vptr_at, n.vtable_slot);
	check(name, !strcmp(got, expected), got);
}

static void check_names(void)
{
#define NAME(function, expected) check_name("name/" #function, function, expected)
	NAME(by_move, "tests::Name hidden InternalNode");
	NAME(by_branch, "tests::Name hidden InternalNode");
	NAME(by_decrement, "tests::Name hidden InternalNode");
	NAME(always_hidden, "- hidden InternalNode");
	NAME(always_named, "tests::Name hidden -");
	NAME(elsewhere, "tests::Name hidden InternalNode");
	NAME(asks, "asks 0 24");
	NAME(asks_base, "asks 48 16");
	NAME(calls_somebody, "- hidden -");
	NAME(unknown_condition, "- hidden -");
	NAME(odd_text, "- hidden -");
	NAME(empty_text, "- hidden -");
	NAME(writable_text, "- hidden -");
	NAME(endless, "- hidden -");
}

/* ---- classes that are asked ---- */
FUNCTION(answers, "push %rbp\nmov %rsp, %rbp\nlea .Ltext(%rip), %rax\npop %rbp\nret");
FUNCTION(asks_itself,
	 "push %rbp\nmov %rsp, %rbp\ncall asks_interface\nmov 0x18(%rax), %rax\npop %rbp\nret");
FUNCTION(asks_interface, "mov (%rdi), %rax\njmp *0x10(%rax)");
FUNCTION(interface, "lea .Linterface(%rip), %rax\nret");
FUNCTION(asks_for_ever, "mov (%rdi), %rax\njmp *24(%rax)");
FUNCTION(asks_somebody_else, "mov 8(%rdi), %rdi\nmov (%rdi), %rax\njmp *(%rax)");
FUNCTION(writes_it, "push %rbx\nmov %rdi, %rbx\nlea 8(%rdi), %rdi\ncall answers\nmov %rbx, "
		    "%rax\npop %rbx\nret");
__asm__(".section .data.rel.ro.probe, \"aw\"\n.p2align 3\n.globl class\n.hidden class\n"
	"class: .quad answers, asks_itself, interface, asks_for_ever, asks_somebody_else, "
	"writes_it, 0, .Ltext\n"
	".Linterface: .quad 0, 0, 0, .Linterface_name\n.section .rodata.probe\n.Linterface_name: "
	".asciz \"Interface\"\n.text\n");
extern const char class[];

static void check_class(struct reloc_index *relocs, uint32_t slot, const char *expected)
{
	const char *got = vtable_name(&world, relocs, (uintptr_t)class - base, slot * 8);
	char name[32];

	snprintf(name, sizeof(name), "class/%u", slot);
	check(name, got ? expected && !strcmp(got, expected) : !expected, got ? got : "nothing");
}

static void check_classes(void)
{
	static const char *const expected[] = { "tests::Name", "Interface" };
	struct reloc_index relocs;

	reloc_index_init(&relocs, &file);
	for (uint32_t slot = 0; slot < 8; slot++)
		check_class(&relocs, slot, slot < 2 ? expected[slot] : NULL);
	reloc_index_deinit(&relocs);
}

/* ---- the vtable that a site stores ---- */
#define MADE "mov %rax, %rbx\nlea .Lbase(%rip), %rcx\nmov %rcx, (%rbx)\n"
#define DONE "orw $0x8000, -4(%rbx)\n"
FUNCTION(site_inline, MADE "lea class(%rip), %rax\nmov %rax, (%rbx)\n" DONE
			   "lea .Lbase(%rip), %rcx\nmov %rcx, (%rbx)\nret");
FUNCTION(constructs,
	 "push %rbp\ncall constructs_base\nlea class(%rip), %rax\nmov %rax, (%rdi)\npop %rbp\nret");
FUNCTION(constructs_kept, "push %rbx\nmov %rdi, %rbx\ncall constructs_base\nlea class(%rip), "
			  "%rax\nmov %rax, (%rbx)\npop %rbx\nret");
FUNCTION(constructs_base, "lea .Lbase(%rip), %rax\nmov %rax, (%rdi)\nret");
FUNCTION(site_kept, MADE "mov %rbx, %rdi\ncall constructs_kept\n" DONE "ret");
FUNCTION(site_other, "mov %rax, %rbx\nlea class(%rip), %rax\nmov %rax, 8(%rbx)\n" DONE "ret");
FUNCTION(site_none, "mov %rax, %rbx\nmov %rdi, (%rbx)\n" DONE "ret");
FUNCTION(site_elsewhere, "mov %rax, %rbx\nlea class(%rip), %rax\nmov %rax, (%rdi)\n" DONE "ret");
__asm__(".section .data.rel.ro.probe, \"aw\"\n.p2align 3\n.Lbase: .quad answers\n.text\n");

static void check_site(const char *name, const char *at, uint32_t vptr_at, const char *expected)
{
	uint64_t got = site_vtable(&world, (uintptr_t)at - base, vptr_at, 4);
	char text[32];

	snprintf(text, sizeof(text), "%#lx", (unsigned long)got);
	check(name, got == (expected ? (uintptr_t)expected - base : 0), text);
}

static void check_sites(void)
{
	check_site("site/inline", site_inline, 0, class);
	check_site("site/kept", site_kept, 0, class);
	check_site("site/at 8", site_other, 8, class);
	check_site("site/not at 0", site_other, 0, NULL);
	check_site("site/unknown", site_none, 0, NULL);
	check_site("site/elsewhere", site_elsewhere, 0, NULL);
	/* a call may change rdi: what is stored through it afterwards isn't the object's, for all
	 * that is known */
	check_site("site/lost", constructs, 0, NULL);
}

/* ---- the sweep ---- */
enum { PLACES = 1 << 16 };
struct places {
	uint64_t at[SWEEP_WORKERS][PLACES];
	unsigned count[SWEEP_WORKERS];
};

static bool note_place(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct places *places = context;

	if (places->count[worker] < PLACES)
		places->at[worker][places->count[worker]++] = vaddr;
	return true;
}

/* How many places the sweep finds, and whether each is one of those that a plain search finds. */
static void check_sweep(const char *name, enum sweep_form form, uint64_t low, uint64_t high)
{
	struct places *places = calloc(1, sizeof(*places));
	struct probe_sweep sweep = { .file = &file,
				     .form = form,
				     .low = low,
				     .high = high,
				     .place = note_place,
				     .context = places };
	unsigned found = 0, expected = 0, missing = 0;
	char got[128];

	if (!places || !sweep_code(&sweep)) {
		check(name, false, "it ended early");
		return;
	}
	for (unsigned w = 0; w < SWEEP_WORKERS; w++)
		found += places->count[w];
	for (size_t s = 0; s < file.segment_count; s++) {
		uint64_t start = file.segments[s].p_vaddr, room = binary_room(&file, start);
		const uint8_t *code =
			file.segments[s].p_type == PT_LOAD && file.segments[s].p_flags & PF_X
				? binary_at(&file, start, room)
				: NULL;

		for (uint64_t i = 0; code && i + 5 <= room; i++) {
			bool lea = i + 7 <= room && (code[i] & 0xfb) == 0x48 &&
				   code[i + 1] == 0x8d && (code[i + 2] & 0xc7) == 5;
			bool call = code[i] == 0xe8 || code[i] == 0xe9, there = false;
			size_t length = form == SWEEP_CALL ? 5 : 7;
			int32_t distance;

			if (form == SWEEP_CALL ? !call : !lea)
				continue;
			memcpy(&distance, code + i + length - 4, 4);
			if (start + i + length + (uint64_t)(int64_t)distance - low >= high - low)
				continue;
			expected++;
			for (unsigned w = 0; w < SWEEP_WORKERS && !there; w++)
				for (unsigned k = 0; k < places->count[w] && !there; k++)
					there = places->at[w][k] == start + i;
			missing += !there;
		}
	}
	snprintf(got, sizeof(got), "%u found, %u expected, %u of them missing", found, expected,
		 missing);
	check(name, expected > 2 && found == expected && !missing, got);
	free(places);
}

/* ---- the result's file ---- */
static void check_file(void)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	char directory[] = "/tmp/shiny-probe.XXXXXX", link[64], *path;
	struct shiny_probe_file *made, *loaded;
	const struct shiny_probe_type *types;
	struct shiny_patch_recipe recipe = { .vaddr = 0x1234 };
	struct probe_draft draft;
	struct stat st;

	if (!mkdtemp(directory)) {
		check("file", false, "no directory");
		return;
	}
	probe_draft_init(&draft);
	draft.head.build_id_bytes = sizeof(id);
	memcpy(draft.head.build_id, id, sizeof(id));
	draft.head.shape = SHINY_PROBE_SECTION;
	draft.head.entries[draft.head.entry_count++] =
		(struct shiny_probe_entry){ .vaddr = 0x1234, .kind = SHINY_PROBE_ALLOCATE };
	probe_draft_recipe(&draft, &recipe);
	for (uint16_t i = 1; i < 4; i++)
		*vec_push(&draft.types) = (struct shiny_probe_type){ .index = i, .name = probe_draft_text(&draft, i == 2 ? "two" : "more") };
	probe_draft_note(&draft, "about", SHINY_PROBE_HIGH, "%d notes", 1);
	made = probe_draft_finish(&draft);
	path = cache_file_path(directory, "probe", id, sizeof(id), "");
	check("file/good", made && probe_file_good(made, made->file_bytes, id, sizeof(id)),
	      "a result just made is refused");
	check("file/written",
	      path && cache_file_write(path, made, made->file_bytes) && !stat(path, &st) &&
		      (st.st_mode & 0777) == 0600,
	      "it isn't there");
	loaded = path ? probe_file_load(path, id, sizeof(id)) : NULL;
	check("file/read", loaded && !memcmp(loaded, made, made->file_bytes), "something else");
	types = loaded ? (const void *)((const char *)loaded + loaded->types_at) : NULL;
	check("file/names",
	      loaded && loaded->type_count == 3 &&
		      !strcmp((const char *)loaded + loaded->text_at + types[1].name, "two"),
	      "another name");
	check("file/recipe",
	      loaded && ((const struct shiny_patch_recipe *)(const void *)((const char *)loaded +
									   loaded->entries[0]
										   .recipe_at))
					->vaddr == 0x1234,
	      "another recipe");
	free(loaded);
	check("file/another build", path && !probe_file_load(path, id, sizeof(id) - 1),
	      "it was believed");
	snprintf(link, sizeof(link), "%s/link", directory);
	check("file/symlink",
	      path && !symlink(path, link) && !probe_file_load(link, id, sizeof(id)),
	      "it was followed");
	unlink(link);
	/* anywhere behind the magic number and the checksum itself */
	for (size_t i = 16; made && i < made->file_bytes; i += 37) {
		((uint8_t *)made)[i] ^= 4;
		if (probe_file_good(made, made->file_bytes, id, sizeof(id))) {
			char where[32];

			snprintf(where, sizeof(where), "byte %zu", i);
			check("file/damage", false, where);
		}
		((uint8_t *)made)[i] ^= 4;
	}
	check("file/short", made && !probe_file_good(made, made->file_bytes - 1, id, sizeof(id)),
	      "it was believed");
	free(made);
	if (path)
		unlink(path);
	free(path);
	probe_draft_deinit(&draft);
	path = NULL;
	if (asprintf(&path, "%s/probe", directory) > 0) {
		rmdir(path);
		free(path);
	}
	rmdir(directory);
}

static int find_base(struct dl_phdr_info *info, size_t size, void *context)
{
	(void)size;
	*(uintptr_t *)context = info->dlpi_addr;
	return 1;
}

int main(void)
{
	Elf64_Shdr section;

	dl_iterate_phdr(find_base, &base);
	if (binary_open(&file, "/proc/self/exe") != BINARY_OK)
		return 1;
	world.file = &file;
	check_makers();
	check_registrars();
	check_names();
	check_classes();
	check_sites();
	if (binary_section_named(&file, ".rodata", &section))
		check_sweep("sweep/addresses", SWEEP_ADDRESS, section.sh_addr,
			    section.sh_addr + section.sh_size);
	check_sweep("sweep/calls", SWEEP_CALL, (uintptr_t)maker - base, (uintptr_t)endless - base);
	check_file();
	binary_close(&file);
	return failures != 0;
}
