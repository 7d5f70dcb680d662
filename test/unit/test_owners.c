/* SPDX-License-Identifier: Apache-2.0 */
/* test_owners.c: what the rules say of segments as real programs have them. */
#include "../../src/sidecar/vm/owners.h"
#include "check.h"

#define GIB (UINT64_C(1) << 30)
#define MIB (UINT64_C(1) << 20)

static const struct {
	const char *what, *owner, *detail;
	struct owner_facts facts;
} cases[] = {
	/* Chromium 156, as its prctl calls name them */
	{ "pools", "partition_alloc", "pools", { .bytes = 32 * GIB, .call = true, .name = "partition_alloc" } },
	{ "what describes the pools", "partition_alloc", "metadata", { .bytes = 16 * GIB, .call = true, .name = "partition_alloc" } },
	{ "the guard", "partition_alloc", "kept free below 4 GiB", { .start = 0x10000, .bytes = 4295950336, .call = true, .name = "partition_alloc" } },
	{ "a super page elsewhere", "partition_alloc", "super pages", { .bytes = 2 * MIB, .call = true, .name = "partition_alloc" } },
	{ "blocks do not make pools malloc's", "partition_alloc", "pools", { .bytes = 32 * GIB, .call = true, .blocks = true, .name = "partition_alloc" } },
	{ "V8's sandbox", "v8", "sandbox: heap, array buffers", { .bytes = UINT64_C(1477468749824), .call = true, .name = "v8-sandbox" } },
	{ "V8's pointer tables", "v8", "pointer tables", { .bytes = 512 * MIB, .call = true, .name = "v8-pointer-table" } },
	{ "V8's code", "v8", "code", { .bytes = 512 * MIB, .call = true, .name = "v8" } },
	{ "V8's trusted space", "v8", "trusted space", { .bytes = GIB, .call = true, .name = "v8" } },
	{ "Oilpan's cage", "oilpan", "cage", { .bytes = 16 * GIB, .call = true, .name = "v8" } },
	{ "a name as the kernel shows it", "v8", "sandbox: heap, array buffers", { .bytes = 1000 * GIB, .seen = true, .name = "[anon:v8-sandbox]" } },
	{ "a name that nothing is known of", "named", "dalvik", { .bytes = MIB, .call = true, .name = "dalvik" } },
	/* ordinary programs */
	{ "the heap", "malloc", "glibc", { .bytes = MIB, .seen = true, .name = "[heap]" } },
	{ "a large block of glibc's", "malloc", "glibc", { .bytes = MIB, .seen = true, .blocks = true } },
	{ "an arena of glibc's", "malloc", "glibc arena", { .start = 64 * MIB * 1000, .bytes = MIB, .seen = true } },
	{ "an extent of jemalloc's", "malloc", "jemalloc", { .bytes = MIB, .call = true, .callers = { "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2" } } },
	{ "an allocator's own, without a library", "malloc", "mariadbd", { .bytes = MIB, .call = true, .blocks = true, .callers = { "/usr/sbin/mariadbd" } } },
	{ "a stack", "stacks", "worker", { .bytes = MIB, .seen = true, .thread = "worker" } },
	{ "a stack with blocks in it", "stacks", "worker", { .bytes = MIB, .seen = true, .blocks = true, .thread = "worker" } },
	{ "the main thread's stack", "stacks", "main thread", { .bytes = MIB, .seen = true, .name = "[stack]" } },
	{ "the main thread's variables", "stacks", "main thread's variables", { .bytes = 8192, .seen = true, .tls = true } },
	{ "code", "modules", "libc.so.6", { .bytes = MIB, .seen = true, .file = "/lib/x86_64-linux-gnu/libc.so.6", .module = "/lib/x86_64-linux-gnu/libc.so.6" } },
	{ "zero-initialised data", "modules", "libc.so.6", { .bytes = MIB, .seen = true, .module = "/lib/x86_64-linux-gnu/libc.so.6" } },
	{ "our own data", "shiny", "libshiny.so", { .bytes = MIB, .seen = true, .module = "/opt/libshiny.so" } },
	{ "our own code", "shiny", "libshiny.so", { .bytes = MIB, .seen = true, .file = "/opt/libshiny.so", .module = "/opt/libshiny.so" } },
	{ "our ring", "shiny", "ring and tables", { .bytes = MIB, .seen = true, .own = true, .file = "/dev/shm/shiny-0/1.2/ring.3.0" } },
	{ "a file", "files", "resources.pak", { .bytes = MIB, .call = true, .file = "/usr/lib/chromium/resources.pak" } },
	{ "a font", "files", "fonts", { .bytes = MIB, .call = true, .file = "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf" } },
	{ "shared memory", "shared", "memfd:x (deleted)", { .bytes = MIB, .call = true, .file = "/memfd:x (deleted)" } },
	{ "shared memory without a name", "shared", "anonymous", { .bytes = MIB, .call = true, .file = "/dev/zero (deleted)" } },
	{ "a buffer of the GPU's", "gpu", "renderD128", { .bytes = MIB, .call = true, .file = "/dev/dri/renderD128" } },
	{ "the vdso", "kernel", "[vdso]", { .bytes = 8192, .seen = true, .name = "[vdso]" } },
	{ "node's heap, by its functions", "v8", "libnode.so.108",
	  { .bytes = 256 * 1024, .call = true, .callers = { "/lib/libnode.so.108" }, .functions = { "v8::base::OS::Allocate(void*, unsigned long)" } } },
	{ "what a module maps for itself", "mapped", "libfoo.so", { .bytes = MIB, .call = true, .callers = { "/lib/libc.so.6", "/lib/libfoo.so" } } },
	{ "nothing known", "unclassified", "", { .start = 0x7f0000001000, .bytes = 8192, .seen = true } },
};

int main(void)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *detail = NULL, *owner = owners_name(owners_find(&cases[i].facts, &detail));

		checkf(cases[i].what, !strcmp(owner, cases[i].owner) && !strcmp(detail, cases[i].detail), "it is %s, %s; not %s, %s", owner, detail,
		       cases[i].owner, cases[i].detail);
	}
	return failures != 0;
}
