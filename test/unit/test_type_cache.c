/* SPDX-License-Identifier: Apache-2.0 */
/* test_type_cache.c: answers that were put come back, from memory and from the file; a file that
 * isn't whole, or not ours, is none. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../symbolizer/infer/type_cache.h"
#include "check.h"

static struct names names;
static char directory[64], path[160];
static const uint8_t id[20] = { 0xab, 0xcd, 0xef, 1,  2,  3,  4,  5,  6,  7,
				8,    9,    10,	  11, 12, 13, 14, 15, 16, 17 };
enum { RULES = 77, HEADER = 104 };

static struct type_cache *cache(uint64_t rules)
{
	return type_cache_open(directory, id, sizeof(id), rules, &names);
}

/* An answer that has something in every field, different for each n. */
static struct site_answer answer(unsigned n)
{
	struct site_answer a = { .count = n % (SITE_CANDIDATES + 1),
				 .ambiguous = n & 1,
				 .climbs = n & 2,
				 .opaque = n & 4 };
	char text[64];

	for (unsigned i = 0; i < a.count; i++) {
		struct site_candidate *c = &a.candidates[i];

		snprintf(text, sizeof(text), "ns::Type%u", n % 50 + i);
		c->type = names_text(&names, text);
		c->container =
			n % 3 ? names_text(&names, "std::vector<int, std::allocator<int>>") : NULL;
		c->bytes = n * UINT64_C(0x100000001);
		c->header = i;
		c->rule = SYM_RULE_ALLOCATOR + (n + i) % 5;
		c->form = (n + i) % 4;
		c->array = n & 8;
		c->trailing = n & 16;
		c->or_derived = n & 32;
		c->flags = n * 3;
		for (unsigned k = 0; k < (n + i) % (SITE_LEADING + 1); k++) {
			snprintf(text, sizeof(text), "Base%u", k);
			c->leading[k] = names_text(&names, text);
		}
	}
	a.label = n % 5 ? NULL : names_text(&names, "storage of X");
	a.label_unit = n % 3;
	a.callee = n % 7 ? names_text(&names, "operator new(unsigned long)") : NULL;
	return a;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && !strcmp(a, b));
}

static bool same(const struct site_answer *a, const struct site_answer *b)
{
	if (!a || a->count != b->count || a->ambiguous != b->ambiguous || a->climbs != b->climbs ||
	    a->opaque != b->opaque || !same_text(a->label, b->label) ||
	    a->label_unit != b->label_unit || !same_text(a->callee, b->callee))
		return false;
	for (size_t i = 0; i < a->count; i++) {
		const struct site_candidate *c = &a->candidates[i], *d = &b->candidates[i];

		if (!same_text(c->type, d->type) || !same_text(c->container, d->container) ||
		    c->bytes != d->bytes || c->header != d->header || c->rule != d->rule ||
		    c->form != d->form || c->array != d->array || c->trailing != d->trailing ||
		    c->or_derived != d->or_derived || c->flags != d->flags)
			return false;
		for (int k = 0; k < SITE_LEADING; k++)
			if (!same_text(c->leading[k], d->leading[k]))
				return false;
	}
	return true;
}

static void put(struct type_cache *c, uint64_t ret, unsigned n)
{
	struct site_answer a = answer(n);

	type_cache_put(c, ret, &a);
}

static bool has(struct type_cache *c, uint64_t ret, unsigned n)
{
	struct site_answer a = answer(n);

	return same(type_cache_get(c, ret), &a);
}

static uint64_t stored(const struct type_cache *c)
{
	struct type_cache_info info;

	type_cache_info(c, &info);
	return info.stored;
}

static bool passes(const struct type_cache *c, uint64_t ret, enum sym_passes want)
{
	enum sym_passes known;

	return type_cache_passes(c, ret, &known) && known == want;
}

/* Whether a function passes a block on is kept beside its answer, or where there is none. */
static void test_passes(void)
{
	struct type_cache *c = cache(RULES);
	enum sym_passes none;

	put(c, 100, 1);
	type_cache_put_passes(c, 100, SYM_PASSES_CODE, true);
	type_cache_put_passes(c, 200, SYM_PASSES_NOT, true);
	put(c, 300, 3);
	type_cache_put_passes(c, 400, SYM_PASSES_CODE, false);
	check_that("passing is known at once",
		   passes(c, 100, SYM_PASSES_CODE) && passes(c, 200, SYM_PASSES_NOT) &&
			   has(c, 100, 1) && !type_cache_passes(c, 300, &none) &&
			   passes(c, 400, SYM_PASSES_CODE));
	type_cache_close(c);

	c = cache(RULES);
	check_that("answers alone are counted", stored(c) == 2);
	check_that("passing is known from the file",
		   passes(c, 100, SYM_PASSES_CODE) && passes(c, 200, SYM_PASSES_NOT) &&
			   !type_cache_passes(c, 300, &none) && !type_cache_passes(c, 400, &none));
	check_that("without an answer",
		   !type_cache_get(c, 200) && has(c, 100, 1) && has(c, 300, 3));
	put(c, 200, 2);
	type_cache_put_passes(c, 300, SYM_PASSES_DECLARED, true);
	type_cache_close(c);

	c = cache(RULES);
	check_that("both kinds join what was there",
		   stored(c) == 3 && has(c, 200, 2) && passes(c, 200, SYM_PASSES_NOT) &&
			   passes(c, 300, SYM_PASSES_DECLARED) && passes(c, 100, SYM_PASSES_CODE));
	type_cache_close(c);
	unlink(path);
}

static bool source(const struct type_cache *c, uint64_t ret, const char *want)
{
	const char *text = "";

	return type_cache_source(c, ret, &text) && same_text(text, want);
}

/* So is the source file, and that there is none. */
static void test_source(void)
{
	struct type_cache *c = cache(RULES);
	const char *text;

	put(c, 100, 1);
	type_cache_put_source(c, 100, names_text(&names, "base/a.cc"));
	type_cache_put_source(c, 200, NULL);
	type_cache_put_source(c, 300, names_text(&names, "base/b.cc"));
	put(c, 400, 4);
	type_cache_close(c);

	c = cache(RULES);
	check_that("source files are known from the file",
		   source(c, 100, "base/a.cc") && source(c, 200, NULL) &&
			   source(c, 300, "base/b.cc"));
	check_that("what has none is not what was not asked",
		   !type_cache_source(c, 400, &text) && !type_cache_source(c, 500, &text));
	check_that("beside answers", has(c, 100, 1) && has(c, 400, 4) && !type_cache_get(c, 200));
	type_cache_put_source(c, 400, names_text(&names, "base/a.cc"));
	type_cache_put_passes(c, 300, SYM_PASSES_CODE, true);
	type_cache_close(c);

	c = cache(RULES);
	check_that("what is added joins them",
		   source(c, 100, "base/a.cc") && source(c, 200, NULL) &&
			   source(c, 300, "base/b.cc") && source(c, 400, "base/a.cc") &&
			   passes(c, 300, SYM_PASSES_CODE) && stored(c) == 2);
	type_cache_close(c);
	unlink(path);
}

static bool frames(const struct type_cache *c, uint64_t ret, const struct sym_frame *want,
		   size_t wanted)
{
	struct sym_frame found[SYM_FRAMES_MAX];
	size_t count;

	if (!type_cache_frames(c, ret, found, SYM_FRAMES_MAX, &count) || count != wanted)
		return false;
	for (size_t i = 0; i < count; i++)
		if (!same_text(found[i].function, want[i].function) ||
		    !same_text(found[i].file, want[i].file) || found[i].line != want[i].line ||
		    found[i].inlined != want[i].inlined)
			return false;
	return true;
}

/* So are frames, if they are to be kept, and that there are none. */
static void test_frames(void)
{
	struct type_cache *c = cache(RULES);
	struct sym_frame two[] = {
		{ names_text(&names, "ns::inner()"), names_text(&names, "/a/b.cc"), 70000, true },
		{ NULL, names_text(&names, "/a/c.cc"), 3, false },
	}, first, many[SYM_FRAMES_MAX];
	size_t count = 0;

	for (size_t i = 0; i < SYM_FRAMES_MAX; i++)
		many[i] = (struct sym_frame){ two[0].function, two[1].file, (uint32_t)i, i % 2 };
	put(c, 100, 1);
	type_cache_put_frames(c, 100, two, 2, true);
	type_cache_put_frames(c, 200, two, 0, true);
	type_cache_put_frames(c, 300, two, 1, false);
	type_cache_put_frames(c, 500, many, SYM_FRAMES_MAX, true);
	check_that("frames are known at once",
		   frames(c, 100, two, 2) && frames(c, 200, two, 0) && frames(c, 300, two, 1) &&
			   !type_cache_frames(c, 400, many, 1, &count));
	type_cache_close(c);

	c = cache(RULES);
	check_that("kept frames are known from the file",
		   frames(c, 100, two, 2) && frames(c, 200, two, 0) && has(c, 100, 1) &&
			   frames(c, 500, many, SYM_FRAMES_MAX));
	check_that("others are not", !type_cache_frames(c, 300, many, 1, &count));
	check_that("no more than there is room for",
		   type_cache_frames(c, 500, &first, 1, &count) && count == SYM_FRAMES_MAX &&
			   first.line == 0);
	type_cache_put_frames(c, 300, &two[1], 1, true);
	type_cache_close(c);

	c = cache(RULES);
	check_that("what is added joins them",
		   frames(c, 100, two, 2) && frames(c, 200, two, 0) && frames(c, 300, &two[1], 1));
	type_cache_close(c);
	unlink(path);
}

static bool function(const struct type_cache *c, uint64_t ret, uint64_t want)
{
	uint64_t low;

	return type_cache_function(c, ret, &low) && low == want;
}

/* So is where a function begins, and that there is none. */
static void test_function(void)
{
	struct type_cache *c = cache(RULES);
	uint64_t low;

	type_cache_put_function(c, 0x100, 0xf0);
	type_cache_put_function(c, 0x200, 0);
	type_cache_put_function(c, UINT64_C(0x200000000), 0x100); /* farther than can be kept */
	put(c, 0x300, 3);
	check_that("a function is known at once",
		   function(c, 0x100, 0xf0) && function(c, 0x200, 0) &&
			   !type_cache_function(c, 0x300, &low));
	type_cache_close(c);

	c = cache(RULES);
	check_that("a function is known from the file",
		   function(c, 0x100, 0xf0) && function(c, 0x200, 0) && has(c, 0x300, 3) &&
			   function(c, UINT64_C(0x200000000), 0) &&
			   !type_cache_function(c, 0x300, &low));
	type_cache_close(c);
	unlink(path);
}

static size_t read_file(uint8_t *out, size_t room)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, out, room);

	if (fd >= 0)
		close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void write_file(const uint8_t *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_TRUNC | O_CREAT, 0600);

	if (fd < 0 || write(fd, data, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
}

static void test_round_trip(void)
{
	struct type_cache *c = cache(RULES);
	const struct site_answer *kept;
	struct type_cache_info info;
	struct stat st;
	bool good = true;

	check_that("an empty cache has nothing", !type_cache_get(c, 1) && !stored(c));
	for (unsigned n = 0; n < 3000; n++)
		put(c, n * 37, n);
	kept = type_cache_get(c, 37);
	put(c, 37, 1);
	check_that("what was got stays where it is", kept == type_cache_get(c, 37));
	for (unsigned n = 0; n < 3000; n++)
		good &= has(c, n * 37, n);
	check_that("answers come back from memory", good);
	check_that("others are not there", !type_cache_get(c, 38));
	type_cache_close(c);
	check_that("the file is its user's alone", !stat(path, &st) && (st.st_mode & 0777) == 0600);
	snprintf(path + strlen(directory), 8, "/types");
	check_that("and so is the directory", !stat(path, &st) && (st.st_mode & 0777) == 0700);
	path[strlen(directory) + 6] = '/';

	c = cache(RULES);
	type_cache_info(c, &info);
	check_that("its path is told", info.path && !strcmp(info.path, path));
	check_that("the file holds them all", info.stored == 3000 && !info.added);
	good = true;
	for (unsigned n = 3000; n--;)
		good &= has(c, n * 37, n);
	check_that("answers come back from the file",
		   good && !type_cache_get(c, 38) && !type_cache_get(c, UINT64_MAX));
	put(c, 38, 5);
	type_cache_close(c);
	c = cache(RULES);
	check_that("what is added joins what was there",
		   stored(c) == 3001 && has(c, 38, 5) && has(c, 2999 * 37, 2999));
	put(c, 37, 2); /* another answer for the same address replaces it */
	type_cache_close(c);
	c = cache(RULES);
	check_that("a newer answer replaces an older one", stored(c) == 3001 && has(c, 37, 2));
	type_cache_close(c);
}

static void test_keys(void)
{
	static const uint8_t other[20] = { 1 };
	struct type_cache *c = cache(RULES + 1);

	check_that("other rules: as good as none", !stored(c) && !type_cache_get(c, 38));
	type_cache_close(c);
	c = cache(RULES);
	check_that("asking changes no file", stored(c) == 3001);
	type_cache_close(c);
	c = type_cache_open(directory, other, sizeof(other), RULES, &names);
	check_that("another module: another file", !stored(c));
	type_cache_close(c);
}

static struct type_cache *sibling(unsigned rules)
{
	static const uint8_t third[] = { 3, 3, 3, 3, 3 };

	return type_cache_open(directory, third, sizeof(third), rules, &names);
}

static void write_sibling(unsigned rules)
{
	struct type_cache *c = sibling(rules);

	put(c, 5, rules);
	type_cache_close(c);
}

static bool sibling_is_there(unsigned rules)
{
	struct type_cache *c = sibling(rules);
	bool there = stored(c) == 1;

	type_cache_close(c);
	return there;
}

/* Two builds take turns; a fifth file of the module makes the oldest go. */
static void test_siblings(void)
{
	const struct timespec old[2] = { { .tv_sec = 1000 }, { .tv_sec = 1000 } };
	struct type_cache_info info;
	struct type_cache *c;

	write_sibling(1);
	write_sibling(2);
	check_that("files of two keys stay beside each other",
		   sibling_is_there(1) && sibling_is_there(2));
	c = sibling(2);
	type_cache_info(c, &info);
	check_that("one of them is old", !utimensat(AT_FDCWD, info.path, old, 0));
	type_cache_close(c);
	write_sibling(3);
	write_sibling(4);
	check_that("four files of a module stay", sibling_is_there(2));
	write_sibling(5);
	check_that("of five the oldest goes",
		   !sibling_is_there(2) && sibling_is_there(1) && sibling_is_there(5));
}

static bool as_none(void)
{
	struct type_cache *c = cache(RULES);
	bool none = !stored(c) && !type_cache_get(c, 38);

	type_cache_close(c);
	return none;
}

static void seal(uint8_t *file, size_t bytes)
{
	uint64_t sum = XXH3_64bits(file + 16, bytes - 16);

	memcpy(file + 8, &sum, 8);
}

/* Every answer can be asked for and whatever comes is an answer. */
static bool survives(void)
{
	struct type_cache *c = cache(RULES);
	const char *text;
	bool good = true;

	for (unsigned n = 0; n < 3000; n++) {
		const struct site_answer *a = type_cache_get(c, n * 37);

		good &= !a || a->count <= SITE_CANDIDATES;
		good &= !type_cache_source(c, n * 37, &text) || !text || strlen(text) < 4096;
		for (size_t i = 0; a && i < a->count; i++)
			good &= a->candidates[i].rule <= SYM_RULE_LEARNED &&
				(!a->candidates[i].type || strlen(a->candidates[i].type) < 4096);
	}
	type_cache_close(c);
	return good;
}

static void test_damage(void)
{
	static uint8_t whole[1 << 22], broken[1 << 22];
	size_t bytes = read_file(whole, sizeof(whole));
	bool good = true;
	uint64_t random = 12345;

	check_that("the file has a size to test with", bytes > 100000 && bytes < sizeof(whole));
	for (size_t cut = 0; cut < bytes; cut += cut < 200 ? 1 : bytes / 50) {
		write_file(whole, cut);
		good &= as_none();
	}
	check_that("truncated: as good as none", good);
	good = true;
	for (size_t at = 0; at < bytes; at += at < HEADER ? 1 : bytes / 60) {
		memcpy(broken, whole, bytes);
		broken[at] ^= 0x10;
		write_file(broken, bytes);
		good &= as_none();
	}
	check_that("a flipped bit: as good as none", good);
	memset(broken, 0, sizeof(broken));
	write_file(broken, 5000);
	check_that("zeros: as good as none", as_none());
	write_file((const uint8_t *)"SQLite format 3", 16);
	check_that("foreign: as good as none", as_none());
	good = true;
	for (unsigned n = 0; n < 300; n++) { /* with a checksum that is right */
		memcpy(broken, whole, bytes);
		for (unsigned k = 0; k < 20; k++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			broken[HEADER + (random >> 33) % (n & 1 ? 48000 : bytes - HEADER)] ^=
				(uint8_t)(1u << (random >> 61));
		}
		seal(broken, bytes);
		write_file(broken, bytes);
		good &= survives();
	}
	check_that("made to pass: nothing breaks", good);
	for (size_t at = 16; at < HEADER; at += 4) { /* counts and sizes of the header */
		memcpy(broken, whole, bytes);
		memset(broken + at, 0xff, 4);
		seal(broken, bytes);
		write_file(broken, bytes);
		good &= survives();
	}
	check_that("absurd counts: nothing breaks", good);
	unlink(path);
	if (mkfifo(path, 0600))
		abort();
	check_that("a fifo is not waited for", as_none());
	unlink(path);
	if (symlink("/etc/passwd", path))
		abort();
	check_that("a link is not followed", as_none());
	unlink(path);
	write_file(whole, bytes);
	check_that("the whole one is still good", !as_none());
	/* a broken file is replaced by the next one that has something to say */
	write_file(whole, bytes / 2);
	struct type_cache *c = cache(RULES);
	put(c, 5, 5);
	type_cache_close(c);
	c = cache(RULES);
	check_that("a broken one is replaced", stored(c) == 1 && has(c, 5, 5));
	type_cache_close(c);
}

static bool memory_only(struct type_cache *c)
{
	struct type_cache_info info;
	bool good;

	type_cache_info(c, &info);
	put(c, 9, 9);
	good = !info.path && has(c, 9, 9);
	type_cache_close(c);
	return good;
}

static void test_places(void)
{
	struct type_cache_info info;
	struct type_cache *c;
	char home[128];

	check_that("without a build-id: memory only",
		   memory_only(type_cache_open(directory, NULL, 0, RULES, &names)));
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	check_that("without a home: memory only",
		   memory_only(type_cache_open(NULL, id, sizeof(id), RULES, &names)));
	setenv("HOME", "relative", 1);
	check_that("a relative home is none",
		   memory_only(type_cache_open(NULL, id, sizeof(id), RULES, &names)));
	snprintf(home, sizeof(home), "%s/home", directory);
	setenv("HOME", home, 1);
	c = type_cache_open(NULL, id, sizeof(id), RULES, &names);
	type_cache_info(c, &info);
	check_that("HOME/.cache/shiny/types",
		   info.path && !strncmp(info.path, home, strlen(home)) &&
			   strstr(info.path, "/.cache/shiny/types/abcdef0102"));
	put(c, 1, 1);
	type_cache_close(c);
	c = type_cache_open(NULL, id, sizeof(id), RULES, &names);
	check_that("directories are made", stored(c) == 1);
	type_cache_close(c);
	setenv("XDG_CACHE_HOME", directory, 1);
	c = type_cache_open(NULL, id, sizeof(id), RULES, &names);
	type_cache_info(c, &info);
	check_that("XDG_CACHE_HOME goes first",
		   info.path && !strncmp(info.path, directory, strlen(directory)) &&
			   strstr(info.path, "/shiny/types/"));
	type_cache_close(c);
	c = type_cache_open("/proc/nowhere", id, sizeof(id), RULES, &names);
	put(c, 9, 9);
	check_that("what can't be written still works", has(c, 9, 9));
	type_cache_close(c);
	check_that("no temporary file is left",
		   !system("test -z \"$(find \"$XDG_CACHE_HOME\" -type f -name '*.[0-9]*')\""));
}

int main(void)
{
	char command[128];

	strcpy(directory, "/tmp/test_type_cache.XXXXXX");
	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/types/", directory);
	for (size_t i = 0; i < sizeof(id); i++)
		sprintf(path + strlen(path), "%02x", id[i]);
	sprintf(path + strlen(path), "-%016x", RULES);
	test_passes();
	test_source();
	test_frames();
	test_function();
	test_round_trip();
	test_keys();
	test_siblings();
	test_damage();
	test_places();
	names_deinit(&names);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	return system(command) || failures;
}
