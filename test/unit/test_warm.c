/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_warm.c: the calls of allocation functions that a scan of the text finds are those that
 * objdump's disassembly shows.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../symbolizer/sym.h"
#include "check.h"

struct found {
	uint64_t at[256];
	size_t count;
};

static void take(void *context, uint64_t ret)
{
	struct found *found = context;

	if (found->count < 256)
		found->at[found->count++] = ret;
}

static int by_value(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Return addresses as the disassembler gives them: the address of the line behind a call of one of
 * these. */
static bool disassembled(const char *file, struct found *out)
{
	char command[512], line[1024];
	bool call = false;
	FILE *pipe;

	snprintf(command, sizeof(command), "objdump -d --no-show-raw-insn '%s' 2>/dev/null", file);
	pipe = popen(command, "r");
	if (!pipe)
		return false;
	while (fgets(line, sizeof(line), pipe)) {
		char *colon = strchr(line, ':');
		uint64_t vaddr;

		if (!colon || line[0] != ' ')
			continue;
		vaddr = strtoull(line, NULL, 16);
		if (call && out->count < 256)
			out->at[out->count++] = vaddr;
		call = strstr(colon, "call ") &&
		       (strstr(colon, "malloc@") || strstr(colon, "malloc>") ||
			strstr(colon, "calloc@") || strstr(colon, "realloc@") ||
			strstr(colon, "_Znwm@") || strstr(colon, "_Znam@") ||
			strstr(colon, "<hop"));
	}
	return pclose(pipe) == 0;
}

static void compare(const char *name, const char *source, const char *flags)
{
	char directory[] = "/tmp/shiny-test-XXXXXX", file[128], binary[128], command[512], why[128];
	struct found want = { 0 }, got = { 0 };
	struct sym_module *module;
	struct sym *sym;
	FILE *out;

	if (!mkdtemp(directory))
		exit(1);
	snprintf(file, sizeof(file), "%s/calls.c", directory);
	snprintf(binary, sizeof(binary), "%s/calls", directory);
	out = fopen(file, "w");
	if (!out || fputs(source, out) < 0 || fclose(out) != 0)
		exit(1);
	snprintf(command, sizeof(command), "gcc %s -o %s %s", flags, binary, file);
	if (system(command) != 0) {
		check(name, false, "the fixture does not compile");
		return;
	}
	check(name, disassembled(binary, &want) && want.count >= 5, "objdump shows no calls");
	if (sym_create(&(struct sym_options){ .no_cache = true }, &sym) ||
	    sym_module_open(sym, binary, binary, NULL, 0, &module))
		exit(1);
	sym_allocation_calls(module, take, &got);
	qsort(got.at, got.count, sizeof(*got.at), by_value);
	qsort(want.at, want.count, sizeof(*want.at), by_value);
	snprintf(why, sizeof(why), "%zu calls, objdump has %zu", got.count, want.count);
	check(name, got.count == want.count, why);
	for (size_t i = 0; i < got.count && i < want.count; i++)
		if (got.at[i] != want.at[i]) {
			snprintf(why, sizeof(why), "0x%" PRIx64 ", objdump has 0x%" PRIx64,
				 got.at[i], want.at[i]);
			check(name, false, why);
			break;
		}
	sym_destroy(sym);
	unlink(file);
	unlink(binary);
	rmdir(directory);
}

int main(void)
{
	static const char source[] =
		"#include <stdlib.h>\n"
		"void *sink[9];\n"
		"__attribute__((noinline)) void *hop(size_t n) { return malloc(n); }\n"
		"__attribute__((noinline)) void *grow(void *p) { void *q = realloc(p, 99); sink[8] "
		"= q; return q; }\n"
		"__attribute__((noinline)) int other(int n) { return n + 1; }\n"
		"int main(int c, char **v) { sink[0] = malloc(c); sink[1] = calloc(c, 8); sink[2] "
		"= grow(sink[0]); sink[3] = hop(c);\n"
		"  sink[4] = malloc(c + 5); return other(c); }\n";

	compare("plt", source, "-O2");
	compare("noplt", source, "-O2 -fno-plt");
	compare("executable", source, "-O2 -no-pie");
	compare("cet", source, "-O2 -fcf-protection=full -Wl,-z,ibtplt");
	return failures != 0;
}
