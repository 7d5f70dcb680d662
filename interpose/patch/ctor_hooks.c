/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_hooks.c: records each constructor and destructor that is entered.
 *
 * Runs:      inside.
 * Signals:   as the program's own function.
 * Allocates: see ctor_hooks.h.
 * Threads:   attach: the constructor's. Hook: any.
 *
 * The problem. There can be thousands of them, with any arguments in any registers, and exceptions
 * pass through them. So the hook must not be a frame around the constructor, and it must preserve
 * every register, even those that the calling convention lets a function change: gcc keeps values
 * in them across calls of functions that it knows not to use them (-fipa-ra).
 *
 * The approach. An entry leads to a stub (patcher.c), which pushes rbp and the entry's number and
 * jumps to one thunk. The thunk's frame looks like any other's: the saved rbp, and above it the
 * return address into the constructor's caller, which is where stacks are walked from. It saves
 * every register that C code may change, calls the hook, restores them, takes its frame away and
 * jumps to the function as it was. While the constructor runs there is nothing of ours on the
 * stack. So a construction is recorded when it begins, also one that throws.
 *
 * The upper halves of the vector registers: C code of ours doesn't touch them, but libc's memcpy
 * may zero them. They are saved where the processor says that they are in use (xgetbv 1), and only
 * there: to load them would cost the program's SSE code dear from then on. Mask registers and zmm16
 * to 31 are not saved. libc's functions use them only where they leave the upper halves alone;
 * between a caller and a constructor no compiler keeps anything in them.
 */
#define _GNU_SOURCE
#include "ctor_hooks.h"

#include <cpuid.h>
#include <errno.h>
#include <sys/mman.h>

#include <shiny/wire/ctors.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "../core/env.h"
#include "../hook/record_event.h"
#include "../hook/hooks.h"
#include "../unwind/main_image.h"
#include "patcher.h"
#include "probe_head.h"
#include "../core/sys.h"

/* Written before the patches are. */
struct ctor_entry {
	void *function; /* the original function */
	uint32_t class, destroys;
};
static struct ctor_entry *entries;

/* Read by the thunk. 1: xgetbv tells whether the upper halves are in use. */
__attribute__((used, visibility("hidden"))) uint32_t si_ctors_wide;

/* Called by the thunk: records the entry, and returns the original function. */
__attribute__((used, visibility("hidden"))) void *si_ctors_entered(const uintptr_t *fp,
								   void *object, uint32_t number);
void *si_ctors_entered(const uintptr_t *fp, void *object, uint32_t number)
{
	const struct ctor_entry *e = &entries[number];

	si_event_constructor(fp, object, e->class, e->destroys);
	return e->function;
}

SI_INTERNAL char si_ctors_thunk[];

/*
 * On entry: (%rsp) the number, 8(%rsp) rbp, 16(%rsp) the return address. The last three
 * instructions read below the stack pointer, within the 128 bytes that signals leave alone.
 */
#define SAVE(move, n, at) "\t" move " %" n ", " at "(%rsp)\n"
#define LOAD(move, n, at) "\t" move " " at "(%rsp), %" n "\n"
#define SIXTEEN(what, move, r, size)                                                              \
	what(move, r "0", "0*" size) what(move, r "1", "1*" size) what(move, r "2", "2*" size)    \
		what(move, r "3", "3*" size) what(move, r "4", "4*" size)                         \
			what(move, r "5", "5*" size) what(move, r "6",                            \
							  "6*" size) what(move, r "7", "7*" size) \
				what(move, r "8", "8*" size) what(move, r "9", "9*" size)         \
					what(move, r "10", "10*" size) what(move, r "11",         \
									    "11*" size)           \
						what(move, r "12", "12*" size) what(move, r "13", \
										    "13*" size)   \
							what(move, r "14", "14*" size)            \
								what(move, r "15", "15*" size)
#define CALL_HOOK                                                    \
	"	lea	8(%rbx), %rdi\n"                                       \
	"	mov	-40(%rbx), %rsi\n" /* the saved rdi: this */ \
	"	mov	(%rbx), %edx\n"                                        \
	"	call	si_ctors_entered\n"                                   \
	"	mov	%rax, (%rbx)\n"

__asm__(".text\n"
	".p2align 5\n"
	".hidden si_ctors_thunk\n"
	".globl si_ctors_thunk\n"
	".type si_ctors_thunk, @function\n"
	"si_ctors_thunk:\n"
	"	.cfi_startproc\n"
	"	.cfi_def_cfa %rsp, 24\n"
	"	.cfi_offset %rbp, -16\n"
	"	lea	8(%rsp), %rbp\n"
	"	.cfi_def_cfa %rbp, 16\n"
	"	push	%rbx\n"
	"	.cfi_offset %rbx, -32\n"
	"	push	%rax\n"
	"	push	%rcx\n"
	"	push	%rdx\n"
	"	push	%rdi\n"
	"	push	%rsi\n"
	"	push	%r8\n"
	"	push	%r9\n"
	"	push	%r10\n"
	"	push	%r11\n"
	"	lea	-8(%rbp), %rbx\n"
	"	and	$-32, %rsp\n"
	"	sub	$512, %rsp\n"
	"	cld\n"
	"	cmpl	$0, si_ctors_wide(%rip)\n"
	"	je	1f\n"
	"	mov	$1, %ecx\n"
	"	xgetbv\n"
	"	test	$4, %al\n"
	"	je	1f\n"
	SIXTEEN(SAVE, "vmovaps", "ymm", "32")
	CALL_HOOK
	SIXTEEN(LOAD, "vmovaps", "ymm", "32")
	"	jmp	2f\n"
	"1:\n"
	SIXTEEN(SAVE, "movaps", "xmm", "16")
	CALL_HOOK
	SIXTEEN(LOAD, "movaps", "xmm", "16")
	"2:\n"
	"	lea	-88(%rbp), %rsp\n"
	"	pop	%r11\n"
	"	pop	%r10\n"
	"	pop	%r9\n"
	"	pop	%r8\n"
	"	pop	%rsi\n"
	"	pop	%rdi\n"
	"	pop	%rdx\n"
	"	pop	%rcx\n"
	"	pop	%rax\n"
	"	pop	%rbx\n"
	"	.cfi_restore %rbx\n"
	"	mov	(%rbp), %rbp\n"
	"	.cfi_def_cfa %rsp, 24\n"
	"	.cfi_restore %rbp\n"
	"	lea	16(%rsp), %rsp\n"
	"	.cfi_def_cfa %rsp, 8\n"
	"	jmp	*-16(%rsp)\n"
	"	.cfi_endproc\n"
	".size si_ctors_thunk, . - si_ctors_thunk\n");

/* ---- attaching ---- */

#define CHECKED offsetof(struct shiny_ctors_file, version)

static const struct shiny_ctors_class *classes_of(const struct shiny_ctors_file *f)
{
	return (const struct shiny_ctors_class *)(f + 1);
}

static const struct shiny_ctors_entry *entries_of(const struct shiny_ctors_file *f)
{
	return (const struct shiny_ctors_entry *)(classes_of(f) + f->class_count);
}

static const char *fault_of(const struct shiny_ctors_file *f, long bytes,
			    const struct si_main_image *image, uint64_t setting)
{
	if (bytes < (long)sizeof(*f) || f->magic != SHINY_CTORS_MAGIC ||
	    f->bytes != (uint64_t)bytes)
		return "it is damaged";
	if (f->version != SHINY_CTORS_VERSION)
		return "it was made by another version";
	if (XXH3_64bits((const char *)f + CHECKED, (size_t)bytes - CHECKED) != f->checksum ||
	    f->class_count > SHINY_CTORS_CLASSES || f->entry_count > SHINY_CTORS_ENTRIES ||
	    f->name_bytes > SHINY_CTORS_NAMES ||
	    f->bytes != sizeof(*f) + f->class_count * sizeof(struct shiny_ctors_class) +
				f->entry_count * sizeof(struct shiny_ctors_entry) + f->name_bytes)
		return "it is damaged";
	if (f->build_id_bytes != image->build_id_bytes ||
	    !si_same((const char *)f->build_id, (const char *)image->build_id,
		     image->build_id_bytes))
		return "it is of another build";
	if (f->setting != setting)
		return "it was made with another SHINY_CTORS";
	for (uint32_t i = 0; i < f->class_count; i++) {
		const struct shiny_ctors_class *c = &classes_of(f)[i];

		if (c->name_bytes > SHINY_CTORS_NAME || c->name_at > f->name_bytes ||
		    c->name_bytes > f->name_bytes - c->name_at)
			return "it makes no sense";
	}
	for (uint32_t i = 0; i < f->entry_count; i++) {
		const struct shiny_ctors_entry *e = &entries_of(f)[i];

		if (e->class >= f->class_count || e->recipe.vaddr < image->start - image->bias ||
		    e->recipe.vaddr >= image->end - image->bias - SHINY_PATCH_EXPECTED ||
		    e->recipe.expected_bytes > SHINY_PATCH_EXPECTED)
			return "it makes no sense";
	}
	return NULL;
}

static void look_at_processor(void)
{
	uint32_t a, b, c, d;

	/* the system saves the registers (27: OSXSAVE) and the processor has xgetbv 1 (leaf 13.1,
	 * bit 2) and AVX */
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1) || !(c >> 28 & 1))
		return;
	if (__get_cpuid_count(13, 1, &a, &b, &c, &d))
		si_ctors_wide = a >> 2 & 1;
}

static size_t table_bytes(const struct shiny_ctors_file *f)
{
	return f->entry_count * sizeof(*entries);
}

static bool prepare(struct si_patches *patches, const struct shiny_ctors_file *f,
		    struct si_text *why)
{
	if (!si_patch_gate(patches, si_ctors_thunk, why))
		return false;
	for (uint32_t i = 0; i < f->entry_count; i++) {
		const struct shiny_ctors_entry *e = &entries_of(f)[i];

		entries[i] = (struct ctor_entry){ .class = e->class, .destroys = e->destroys };
		entries[i].function = si_patch_add_numbered(patches, &e->recipe, i, why);
		if (!entries[i].function) {
			si_text_add(why, " (");
			si_text_hex(why, e->recipe.vaddr);
			si_text_add(why, ")");
			return false;
		}
	}
	return true;
}

static void tell_classes(const struct si_main_image *image, const struct shiny_ctors_file *f)
{
	const char *names = (const char *)(entries_of(f) + f->entry_count);

	for (uint32_t i = 0; i < f->class_count; i++) {
		const struct shiny_ctors_class *c = &classes_of(f)[i];

		si_event_class(SI_FRAME(),
			       &(struct shiny_class){ .place = image->start,
						      .index = i,
						      .bytes = c->bytes,
						      .constructors = c->constructors,
						      .destructors = c->destructors,
						      .unpatched = c->unpatched,
						      .inlined = c->inlined,
						      .name_bytes = c->name_bytes },
			       names + c->name_at);
	}
}

static bool attach(const struct si_main_image *image, const struct shiny_ctors_file *f,
		   struct si_text *text)
{
	static struct si_patches patches;
	uint32_t constructors = 0;

	if (!f->entry_count) {
		si_text_add(text, "none of the classes has one that can be patched");
		tell_classes(image, f);
		return false;
	}
	look_at_processor();
	entries =
		si_sys_map(table_bytes(f), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!entries || !si_patch_begin(&patches, image->bias, image->start, image->end,
					f->entry_count + 1, text))
		return false;
	if (!prepare(&patches, f, text)) {
		si_patch_abandon(&patches);
		return false;
	}
	if (!si_patch_commit(&patches, text))
		return false;
	tell_classes(image, f);
	for (uint32_t i = 0; i < f->entry_count; i++)
		constructors += !entries_of(f)[i].destroys;
	si_text_number(text, constructors);
	si_text_add(text, " constructors and ");
	si_text_number(text, f->entry_count - constructors);
	si_text_add(text, " destructors of ");
	si_text_number(text, f->class_count);
	si_text_add(text, " classes patched");
	return true;
}

/* Reads the whole file into fresh memory; NULL: that failed. */
static struct shiny_ctors_file *read_file(int fd, long *bytes)
{
	char *at = si_sys_map(SHINY_CTORS_FILE_MAX + 1, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1);
	long n;

	for (*bytes = 0; at && *bytes <= SHINY_CTORS_FILE_MAX; *bytes += n) {
		n = si_sys(SYS_read, fd, at + *bytes, SHINY_CTORS_FILE_MAX + 1 - *bytes);
		if (n <= 0)
			break;
	}
	return (struct shiny_ctors_file *)at;
}

static size_t length_of(const char *text)
{
	size_t n = 0;

	while (text[n])
		n++;
	return n;
}

/* Opens the file of this executable and this setting; returns as si_probe_open does. */
static int open_file(char *const *environment, const struct si_main_image *image, uint64_t *setting,
		     struct si_text *why)
{
	char suffix_text[sizeof(SHINY_CTORS_SUFFIX) + 16];
	static const char digits[] = "0123456789abcdef";
	struct si_text suffix;

	*setting = XXH3_64bits(si_env.ctors, length_of(si_env.ctors));
	si_text_init(&suffix, suffix_text, sizeof(suffix_text));
	si_text_add(&suffix, SHINY_CTORS_SUFFIX);
	for (int shift = 60; shift >= 0; shift -= 4)
		si_text_bytes(&suffix, &digits[*setting >> shift & 15], 1);
	return si_probe_open(environment, image->build_id, image->build_id_bytes, suffix_text, why);
}

bool si_ctors_unknown(char *const *environment, const struct si_main_image *image)
{
	char words[SHINY_TEXT];
	struct si_text why;
	uint64_t setting;
	int fd;

	if (!si_env.ctors[0])
		return false;
	si_text_init(&why, words, sizeof(words));
	fd = open_file(environment, image, &setting, &why);
	if (fd >= 0)
		si_sys_close(fd);
	return fd == -ENOENT;
}

void si_ctors_attach(char *const *environment, struct si_text *text)
{
	char words[SHINY_TEXT];
	struct si_main_image image;
	struct shiny_ctors_file *f;
	struct si_text why;
	uint64_t setting;
	const char *fault;
	bool good = false;
	long bytes;
	int fd;

	if (!si_env.ctors[0])
		return;
	si_main_image(&image);
	si_text_init(&why, words, sizeof(words));
	fd = open_file(environment, &image, &setting, &why);
	if (fd == -ENOENT) {
		si_text_add(&why,
			    "nothing is known of this executable's; shinyctl run looks at it");
	} else if (fd >= 0) {
		f = read_file(fd, &bytes);
		fault = f ? fault_of(f, bytes, &image, setting) : NULL;
		if (fault) {
			si_text_add(&why, fault);
		} else if (f) {
			si_text_init(&why, words, sizeof(words));
			good = attach(&image, f, &why);
		}
		if (f)
			si_sys_unmap(f, SHINY_CTORS_FILE_MAX + 1);
		si_sys_close(fd);
	}
	si_text_add(text, good ? "; " : "; constructors are not recorded: ");
	si_text_add(text, words);
}
