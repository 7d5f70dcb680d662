/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_breakpad.c: frames from Breakpad symbol files as its documentation describes them:
 * functions, inlined ones, names without size, lines; files of another build, and files that are
 * damaged.
 */
#include <unistd.h>

#include "../../src/base/mem.h"
#include "../../symbolizer/elf/breakpad.h"
#include "check.h"

#define MODULE	"MODULE Linux x86_64 0905AE80CEE75A33E3CAB61C274274DE0 program\n"
#define CODE_ID "INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B64\n"

static const char good[] =
	MODULE CODE_ID "INFO GENERATOR by hand\n"
		       "FILE 0 /src/main.cc\n"
		       "FILE 1 /src/with space.h\n"
		       "INLINE_ORIGIN 0 outer_inline\n"
		       "INLINE_ORIGIN 1 inner_inline(int, char const*)\n"
		       "PUBLIC 900 0 start\n"
		       "PUBLIC m 2000 0 last\n"
		       "FUNC m 1000 40 0 physical(int)\n"
		       "INLINE 0 7 0 0 1010 20\n"
		       "INLINE 1 30 1 1 1018 4 1024 4\n"
		       "1000 10 5 0\n"
		       "1010 8 29 1\n"
		       "1018 4 99 1\r\n"
		       "101c 8 31 1\n"
		       "1024 4 98 1\n"
		       "1028 18 8 0\n"
		       "FUNC fff 1 0 f\n"
		       "FUNC 1800 10 0 _ZN5space4readEv\n"
		       "STACK CFI INIT 1000 40 .cfa: $rsp 8 + .ra: .cfa -8 + ^\n";

static Elf64_Phdr segments[] = { { .p_type = PT_LOAD, .p_vaddr = 0x401000 },
				 { .p_type = PT_LOAD, .p_vaddr = 0x400000 } };
static struct binary file = {
	.segments = segments,
	.segment_count = 2,
	.build_id = { 0x80, 0xae, 0x05, 0x09, 0xe7, 0xce, 0x33, 0x5a, 0xe3, 0xca,
		      0xb6, 0x1c, 0x27, 0x42, 0x74, 0xde, 0x96, 0x04, 0x9b, 0x64 },
	.build_id_bytes = 20,
};
static struct names names;

static struct breakpad *open_text(const char *text, size_t bytes)
{
	char path[] = "/tmp/test_breakpad.XXXXXX", *found = NULL;
	const char *places[] = { "/nowhere", path, NULL };
	int fd = mkstemp(path);
	struct breakpad *breakpad;

	if (fd < 0 || write(fd, text, bytes) != (ssize_t)bytes)
		abort();
	close(fd);
	breakpad = breakpad_find(&file, "/usr/bin/program", places, &found);
	if (breakpad && strcmp(found, path))
		abort();
	free(found);
	unlink(path);
	return breakpad;
}

/* `want`: function@file:line of each frame, a space between; inlined ones begin with a +. */
static void frames(const char *name, struct breakpad *breakpad, uint64_t at, const char *want)
{
	struct sym_frame found[8];
	size_t count = breakpad_frames(breakpad, &names, 0x400000 + at, found, 8), used = 0;
	char text[1024] = "";

	for (size_t i = 0; i < count && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%s@%s:%u",
					 i ? " " : "", found[i].inlined ? "+" : "",
					 found[i].function ? found[i].function : "-",
					 found[i].file ? found[i].file : "-", found[i].line);
	checkf(name, !strcmp(text, want), "got %s, want %s", text, want);
}

static void look_up(void)
{
	struct breakpad *breakpad = open_text(good, sizeof(good) - 1);

	check_that("opened", breakpad != NULL);
	if (!breakpad)
		return;
	frames("plain", breakpad, 0x1000, "physical(int) | others@/src/main.cc:5");
	frames("inlined", breakpad, 0x1010,
	       "+outer_inline@/src/with space.h:29 physical(int) | others@/src/main.cc:7");
	frames("inlined-twice", breakpad, 0x1018,
	       "+inner_inline(int, char const*)@/src/with space.h:99 "
	       "+outer_inline@/src/with space.h:30 physical(int) | others@/src/main.cc:7");
	frames("second-range", breakpad, 0x1027,
	       "+inner_inline(int, char const*)@/src/with space.h:98 "
	       "+outer_inline@/src/with space.h:30 physical(int) | others@/src/main.cc:7");
	frames("between-ranges", breakpad, 0x101c,
	       "+outer_inline@/src/with space.h:31 physical(int) | others@/src/main.cc:7");
	frames("last-byte", breakpad, 0x103f, "physical(int) | others@/src/main.cc:8");
	frames("behind-it", breakpad, 0x1040, "");
	frames("no-line", breakpad, 0xfff, "f@-:0");
	frames("mangled", breakpad, 0x1800, "space::read()@-:0");
	frames("public", breakpad, 0x900, "start@-:0");
	frames("public-reaches", breakpad, 0xffe, "start@-:0");
	frames("last-public", breakpad, 0x2345, "last | others@-:0");
	frames("before-all", breakpad, 0x8ff, "");
	breakpad_close(breakpad);
}

static void refused(const char *name, const char *text)
{
	struct breakpad *breakpad = open_text(text, strlen(text));

	check_that(name, !breakpad);
	breakpad_close(breakpad);
}

/* Each prefix, and each byte changed, is opened and asked. */
static void damaged(void)
{
	char text[sizeof(good)];
	struct sym_frame found[8];
	size_t answers = 0;

	for (size_t i = 0; i < 2 * sizeof(good); i++) {
		size_t bytes = i < sizeof(good) ? i : sizeof(good) - 1;
		struct breakpad *breakpad;

		memcpy(text, good, sizeof(good));
		if (i >= sizeof(good))
			text[i - sizeof(good)] ^= (char)(1 + i % 127);
		breakpad = bytes ? open_text(text, bytes) : NULL;
		for (uint64_t at = 0x3ff000; breakpad && at < 0x403000; at += 4)
			answers += breakpad_frames(breakpad, &names, at, found, 8);
		breakpad_close(breakpad);
	}
	checkf("damaged", answers > 100000, "%zu frames", answers);
}

static void wild(void)
{
	static const char text[] = MODULE CODE_ID "FILE 18446744073709551615 far\n"
						  "FILE 99999999999999999999999 farther\n"
						  "INLINE_ORIGIN 4294967295 far\n"
						  "FUNC ffffffffffffffff ffffffffffffffff 0 wraps\n"
						  "FUNC 10 20 0 tame\n"
						  "INLINE 18446744073709551615 1 1 1 10 20\n"
						  "INLINE 63 1 1 1 10 20\n"
						  "INLINE 0 99999999999 7 4294967295 10 20\n"
						  "10 20 99999999999 4294967295\n"
						  "FUNC 100 20 0 ";
	struct breakpad *breakpad = open_text(text, sizeof(text) - 1);

	check_that("wild/opened", breakpad != NULL);
	if (!breakpad)
		return;
	frames("wild/numbers", breakpad, 0x10, "+-@-:0 tame@-:0");
	frames("wild/no-name", breakpad, 0x100, "-@-:0");
	breakpad_close(breakpad);
}

int main(void)
{
	look_up();
	refused("another-build", "MODULE Linux x86_64 1905AE80CEE75A33E3CAB61C274274DE0 program\n"
				 "FUNC 1000 40 0 physical\n");
	refused("another-code-id", MODULE "INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B65\n"
					  "FUNC 1000 40 0 physical\n");
	refused("longer-code-id", MODULE "INFO CODE_ID 80AE0509E7CE335AE3CAB61C274274DE96049B6400\n"
					 "FUNC 1000 40 0 physical\n");
	refused("another-machine",
		"MODULE Linux arm64 0905AE80CEE75A33E3CAB61C274274DE0 program\n");
	refused("not-one", "#!/bin/sh\n");
	damaged();
	wild();
	names_deinit(&names);
	return failures != 0;
}
