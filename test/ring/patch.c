/* SPDX-License-Identifier: Apache-2.0 */
/*
 * patcher.c: functions with beginnings of all sorts (fixtures/patched.c), compiled in many ways, do
 * what they did after their entries were patched, and every call of them comes by the hook. Recipes
 * that do not fit are refused, and then nothing has changed. No page is ever writable and
 * executable. Runs: test.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../interpose/patch/patcher.h"
#include "../../symbolizer/flow/patch_recipe.h"
#include "../unit/check.h"

typedef long L;
typedef L subject_fn(L, L, L, L, L, L);
struct subject { const char *name; subject_fn *function; };

enum { MOST = 64, ARGUMENTS = 40 };

static unsigned hooked[MOST];
static subject_fn *original[MOST];

#define HOOK(n)                                                                                    \
	static L hook_##n(L a, L b, L c, L d, L e, L f)                                            \
	{                                                                                          \
		hooked[n]++;                                                                       \
		return original[n](a, b, c, d, e, f);                                              \
	}
#define ROW(n) hook_##n,
#define EIGHT(f, n) f(n##0) f(n##1) f(n##2) f(n##3) f(n##4) f(n##5) f(n##6) f(n##7)
/* octal */
#define ALL(f)      \
	EIGHT(f, 0) \
	EIGHT(f, 01) EIGHT(f, 02) EIGHT(f, 03) EIGHT(f, 04) EIGHT(f, 05) EIGHT(f, 06) EIGHT(f, 07)
ALL(HOOK)
static subject_fn *const hooks[MOST] = { ALL(ROW) };

/* ---- a library of subjects ---- */

struct library {
	char path[4096];
	void *handle;
	struct binary file;
	const struct subject *subjects;
	unsigned count;
	uintptr_t bias, start, end;
};

static int find_range(struct dl_phdr_info *info, size_t size, void *context)
{
	struct library *l = context;

	(void)size;
	if (strcmp(info->dlpi_name, l->path) != 0)
		return 0;
	l->bias = info->dlpi_addr;
	l->start = UINTPTR_MAX;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		uintptr_t start = l->bias + info->dlpi_phdr[i].p_vaddr;

		if (info->dlpi_phdr[i].p_type != PT_LOAD)
			continue;
		l->start = start < l->start ? start : l->start;
		l->end = start + info->dlpi_phdr[i].p_memsz > l->end
				 ? start + info->dlpi_phdr[i].p_memsz
				 : l->end;
	}
	return 1;
}

static bool build(struct library *l, const char *compiler, const char *flags)
{
	static unsigned number;
	const char *source = __FILE__, *slash = strrchr(source, '/'),
		   *tmp = getenv("SHINY_TEST_TMP");
	char command[9000];

	memset(l, 0, sizeof(*l));
	snprintf(l->path, sizeof(l->path), "%s/patched_%d_%u.so", tmp ? tmp : "/tmp", (int)getpid(),
		 number++);
	snprintf(command, sizeof(command),
		 "%s %s -w -fPIC -shared '%.*s/fixtures/patched.c' -o '%s'", compiler, flags,
		 (int)(slash - source), source, l->path);
	if (system(command) != 0)
		return false;
	l->handle = dlopen(l->path, RTLD_NOW | RTLD_LOCAL);
	if (!l->handle || binary_open(&l->file, l->path) != BINARY_OK) {
		printf("# %s\n", l->handle ? "no ELF" : dlerror());
		return false;
	}
	l->subjects = dlsym(l->handle, "subjects");
	l->count = *(const unsigned *)dlsym(l->handle, "subject_count");
	dl_iterate_phdr(find_range, l);
	return l->bias && l->count <= MOST;
}

static void drop(struct library *l)
{
	if (l->file.data)
		binary_close(&l->file);
	unlink(l->path); /* it stays mapped: its trampolines belong to it */
}

static const char *recipe_of(const struct library *l, unsigned i, struct shiny_patch_recipe *out)
{
	const ElfW(Sym) *symbol = NULL;
	Dl_info info;

	if (!dladdr1((void *)l->subjects[i].function, &info, (void **)(uintptr_t)&symbol,
		     RTLD_DL_SYMENT) ||
	    !symbol)
		return "it has no symbol";
	return patch_recipe_make(&l->file, symbol->st_value, symbol->st_value + symbol->st_size,
				 out);
}

/* Arguments that reach the branches of all subjects. */
static L argument(unsigned round, unsigned n)
{
	static const L some[] = { 0,  1,    2,	      3,	7,	   8,
				  15, 30,   100,      255,	10000,	   -1,
				  -2, -100, 1L << 20, 1L << 40, INT64_MAX, INT64_MIN + 1 };

	return some[(round * 7 + n * (round + 3) + n) % (sizeof(some) / sizeof(*some))];
}

static L call(const struct library *l, unsigned i, unsigned round)
{
	return l->subjects[i].function(argument(round, 0), argument(round, 1), argument(round, 2),
				       argument(round, 3), argument(round, 4), argument(round, 5));
}

/* ---- the system's own view ---- */

/* The rights of the page at `at`, as "r-xp"; and whether any page may be written and executed. */
static bool rights_at(const void *at, char out[5])
{
	FILE *maps = fopen("/proc/self/maps", "re");
	unsigned long low, high;
	bool both = false;
	char line[4600], rights[5];

	strcpy(out, "----");
	while (maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %4s", &low, &high, rights) != 3)
			continue;
		both = both || (rights[1] == 'w' && rights[2] == 'x');
		if ((uintptr_t)at >= low && (uintptr_t)at < high)
			strcpy(out, rights);
	}
	if (maps)
		fclose(maps);
	return both;
}

/* ---- tests ---- */

static L before[MOST][ARGUMENTS];

static void one_build(const char *compiler, const char *flags)
{
	static struct si_patches patches;
	struct shiny_patch_recipe recipe;
	struct si_text why;
	struct library l;
	unsigned patched = 0, wrong = 0, missed = 0;
	char name[200], words[200] = "", detail[400] = "", refused[2000] = "", rights[5];
	bool is_hooked[MOST] = { false }, good;

	snprintf(name, sizeof(name), "%s %s", compiler, flags);
	if (!build(&l, compiler, flags)) {
		printf("skip %s: it does not build\n", name);
		return;
	}
	for (unsigned i = 0; i < l.count; i++)
		for (unsigned round = 0; round < ARGUMENTS; round++)
			before[i][round] = call(&l, i, round);
	memset(hooked, 0, sizeof(hooked));
	si_text_init(&why, words, sizeof(words));
	good = si_patch_begin(&patches, l.bias, l.start, l.end, l.count, &why);
	for (unsigned i = 0; i < l.count && good; i++) {
		const char *reason = recipe_of(&l, i, &recipe);

		if (reason) {
			snprintf(refused + strlen(refused), sizeof(refused) - strlen(refused),
				 "; %s: %s", l.subjects[i].name, reason);
			continue;
		}
		original[i] = (subject_fn *)si_patch_add(&patches, &recipe, (void *)hooks[i], &why);
		good = original[i] != NULL;
		is_hooked[i] = good;
		patched += good;
	}
	good = good && si_patch_commit(&patches, &why);
	for (unsigned i = 0; i < l.count && good; i++) {
		for (unsigned round = 0; round < ARGUMENTS; round++) {
			unsigned calls = hooked[i];
			L now = call(&l, i, round);

			if (now != before[i][round]) {
				snprintf(detail, sizeof(detail), "%s, round %u: %ld, was %ld",
					 l.subjects[i].name, round, now, before[i][round]);
				wrong++;
			}
			if (is_hooked[i] && hooked[i] == calls) {
				snprintf(detail, sizeof(detail), "%s was not hooked",
					 l.subjects[i].name);
				missed++;
			}
		}
	}
	check(name, good && !wrong && !missed, good ? detail : words);
	printf("# %s: %u of %u patched%s\n", name, patched, l.count, refused);
	/* at the least: most functions of any build can be patched, or the recipe maker is too shy
	 * to be of use */
	snprintf(detail, sizeof(detail), "%u of %u", patched, l.count);
	strncat(name, " most", sizeof(name) - strlen(name) - 1);
	check(name, patched >= l.count * 8 / 10, detail);
	good = !rights_at((void *)l.subjects[2].function, rights) && strcmp(rights, "r-xp") == 0 &&
	       !rights_at(patches.page, rights) && strcmp(rights, "r-xp") == 0;
	strncat(name, " rights", sizeof(name) - strlen(name) - 1);
	check(name, good, rights);
	drop(&l);
}

/* Every reason not to patch leaves the code as it was. */
static void refusals(void)
{
	static struct si_patches patches;
	struct shiny_patch_recipe recipe, damaged;
	struct library l;
	struct si_text why;
	char words[200];
	uint8_t code[16];
	enum { SUM = 2 };

	if (!build(&l, "gcc", "-O2 -fcf-protection"))
		return;
	check("refuse_setup", !recipe_of(&l, SUM, &recipe) && recipe.skip == 4, "no recipe");
	memcpy(code, (void *)l.subjects[SUM].function, sizeof(code));
#define REFUSE(name, change, expected)                                                          \
	do {                                                                                    \
		void *got;                                                                      \
		si_text_init(&why, words, sizeof(words));                                       \
		check(name "_begin", si_patch_begin(&patches, l.bias, l.start, l.end, 4, &why), \
		      words);                                                                   \
		damaged = recipe;                                                               \
		change;                                                                         \
		got = si_patch_add(&patches, &damaged, (void *)hooks[0], &why);                 \
		check(name, !got && strstr(words, expected), words);                            \
		si_patch_abandon(&patches);                                                     \
		check(name "_unchanged",                                                        \
		      memcmp(code, (void *)l.subjects[SUM].function, sizeof(code)) == 0,        \
		      "the code has changed");                                                  \
	} while (0)
	REFUSE("other_bytes", damaged.expected[6] ^= 1, "not that of the file");
	REFUSE("other_place", damaged.vaddr += 16, "not that of the file");
	REFUSE("no_code", damaged.code_bytes = 0, "damaged");
	REFUSE("much_code", damaged.code_bytes = 200, "damaged");
	REFUSE("short_displaced", damaged.displaced = 4, "damaged");
	REFUSE("much_expected", damaged.expected_bytes = 255, "damaged");
	REFUSE("odd_skip", damaged.skip = 3, "damaged");
	REFUSE("many_fixups", damaged.fixup_count = 200, "damaged");
	REFUSE("fixup_outside",
	       (damaged.fixup_count = 1,
		damaged.fixups[0] = (struct shiny_patch_fixup){ .at = 70, .next = 74 }),
	       "damaged");
	REFUSE("far_fixup",
	       (damaged.fixup_count = 1, damaged.code_bytes = 8,
		damaged.fixups[0] = (struct shiny_patch_fixup){ .target = UINT64_C(1) << 40,
								.at = 1,
								.next = 5 }),
	       "too far");
	REFUSE("twice",
	       check("twice_first", si_patch_add(&patches, &recipe, (void *)hooks[0], &why) != NULL,
		     words),
	       "twice");

	/* what is patched is not patched again: its bytes are others now */
	si_text_init(&why, words, sizeof(words));
	check("again_begin", si_patch_begin(&patches, l.bias, l.start, l.end, 1, &why), words);
	original[0] = (subject_fn *)si_patch_add(&patches, &recipe, (void *)hooks[0], &why);
	check("again_first", original[0] && si_patch_commit(&patches, &why), words);
	check("again_endbr",
	      memcmp((void *)l.subjects[SUM].function, "\xf3\x0f\x1e\xfa\xe9", 5) == 0,
	      "endbr64 was overwritten");
	check("again_begin_2", si_patch_begin(&patches, l.bias, l.start, l.end, 1, &why), words);
	check("again",
	      !si_patch_add(&patches, &recipe, (void *)hooks[0], &why) &&
		      strstr(words, "not that of the file"),
	      words);
	si_patch_abandon(&patches);
	si_text_init(&why, words, sizeof(words));
	check("many_begin", si_patch_begin(&patches, l.bias, l.start, l.end, 4000, &why), words);
	patches.count = patches.room; /* as if there were so many */
	check("too_many",
	      !si_patch_add(&patches, &recipe, (void *)hooks[0], &why) && strstr(words, "room"),
	      words);
	patches.count = 0;
	si_patch_abandon(&patches);
	si_text_init(&why, words, sizeof(words));
	si_text_init(&why, words, sizeof(words));
	check("too_large",
	      !si_patch_begin(&patches, l.bias, l.start, l.start + (UINT64_C(1) << 32), 4, &why) &&
		      words[0],
	      words);
	drop(&l);
}

/* ---- a call instruction, on a page of its own: nothing else of it runs while it is written
 * ---- */

extern const char the_call[], not_a_call[];
extern L calls_it(L, L), is_called(L, L);
__asm__(".text\n.balign 4096\n.globl calls_it, is_called\n.hidden calls_it, is_called, the_call, "
	"not_a_call\n.globl the_call, not_a_call\n"
	"calls_it: push %rbp\nnot_a_call: mov %rsp, %rbp\nthe_call: call is_called\nadd $1, "
	"%rax\npop %rbp\nret\n"
	"is_called: lea (%rdi,%rsi), %rax\nret\n.balign 4096\n");
static L (*was_called)(L, L);

static L in_its_place(L a, L b)
{
	hooked[0]++;
	return was_called(a, b) * 10;
}

/* One call of a function leads to the hook, in its place; all others do not. */
static void one_call(void)
{
	static struct si_patches patches;
	struct library l = { .path = "" }; /* this program */
	struct shiny_patch_recipe recipe, damaged;
	struct si_text why;
	char words[200] = "", rights[5];

	dl_iterate_phdr(find_range, &l);
	if (binary_open(&l.file, "/proc/self/exe") != BINARY_OK)
		return;
	check("call_none",
	      patch_recipe_make_call(&l.file, (uintptr_t)not_a_call - l.bias, &recipe) != NULL,
	      "a recipe for no call");
	check("call_recipe",
	      !patch_recipe_make_call(&l.file, (uintptr_t)the_call - l.bias, &recipe) &&
		      recipe.call,
	      "no recipe");
	si_text_init(&why, words, sizeof(words));
	check("call_begin", si_patch_begin(&patches, l.bias, l.start, l.end, 4, &why), words);
	damaged = recipe;
	/* then the bytes are those of a function, which a jump would leave without a way back */
	damaged.call = 0;
	damaged.expected[0] ^= 1;
	check("call_other_bytes",
	      !si_patch_add(&patches, &damaged, (void *)in_its_place, &why) &&
		      strstr(words, "not that of the file"),
	      words);
	damaged.call = 1;
	check("call_no_call",
	      !si_patch_add(&patches, &damaged, (void *)in_its_place, &why) &&
		      strstr(words, "damaged"),
	      words);
	damaged = recipe;
	damaged.displaced = 6;
	check("call_long",
	      !si_patch_add(&patches, &damaged, (void *)in_its_place, &why) &&
		      strstr(words, "damaged"),
	      words);
	was_called = (L (*)(L, L))si_patch_add(&patches, &recipe, (void *)in_its_place, &why);
	hooked[0] = 0;
	check("call_before", calls_it(2, 3) == 6 && !hooked[0], "the commit comes later");
	check("call_commit", was_called && si_patch_commit(&patches, &why), words);
	check("call_after", calls_it(2, 3) == 51 && calls_it(-2, 2) == 1 && hooked[0] == 2,
	      "the hook was not called in its place");
	check("call_others", is_called(2, 3) == 5 && hooked[0] == 2, "another call was hooked");
	check("call_rights", !rights_at(the_call, rights) && strcmp(rights, "r-xp") == 0, rights);
	binary_close(&l.file);
}

static void *wait_for(void *fd)
{
	char byte;

	return read(*(int *)fd, &byte, 1) == 1 ? fd : NULL;
}

static void other_thread(void)
{
	static struct si_patches patches;
	struct library l;
	struct si_text why;
	char words[200];
	pthread_t thread;
	int fds[2];

	if (!build(&l, "gcc", "-O1") || pipe(fds) != 0 ||
	    pthread_create(&thread, NULL, wait_for, &fds[0]) != 0)
		return;
	si_text_init(&why, words, sizeof(words));
	check("thread",
	      !si_patch_begin(&patches, l.bias, l.start, l.end, 4, &why) && strstr(words, "thread"),
	      words);
	check("thread_end", write(fds[1], "x", 1) == 1 && pthread_join(thread, NULL) == 0, "write");
	drop(&l);
}

int main(void)
{
	static const char *const ways[] = {
		"-O0",
		"-O1",
		"-O2",
		"-O3",
		"-Os",
		"-O2 -fcf-protection=full",
		"-O0 -fcf-protection=full",
		"-O2 -fomit-frame-pointer -fno-plt",
		"-O2 -fno-omit-frame-pointer",
		"-O1 -fstack-protector-all",
		"-O2 -mno-red-zone -march=haswell",
		"-O3 -march=haswell",
		"-O2 -falign-functions=1 -falign-jumps=1",
		"-O2 -ftls-model=global-dynamic -fno-semantic-interposition",
	};

	/* a wrong patch ends in a crash: what was said before it counts */
	setvbuf(stdout, NULL, _IOLBF, 0);
	refusals();
	one_call();
	for (unsigned c = 0; c < 2; c++)
		for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++)
			one_build(c ? "clang" : "gcc", ways[i]);
	other_thread();
	return failures != 0;
}
