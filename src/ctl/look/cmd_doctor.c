/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_doctor.c: `shinyctl doctor`: checks the machine, a program, or a session: prints what works,
 * what does not, why, and advice. */
#define _GNU_SOURCE
#include <cpuid.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../../sidecar/access/breakpoint_event.h"
#include "../../sidecar/access/referenced.h"
#include "../../../symbolizer/patch/allocator_patch.h"
#include "../../../symbolizer/probe/probe_executable.h"
#include "../../analysis/coverage.h"
#include "../../base/cleanup.h"
#include "../../base/program.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../run/confine_verb.h"
#include "../verb_body.h"
#include "../run/sessions.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { SCRIPTS_MOST = 4 }; /* most interpreters that are scripts themselves; the kernel follows as
			    * many */

/* ---- the machine ---- */

static void check_clock(struct coverage *found)
{
	unsigned a = 0, b = 0, c = 0, d = 0;

	if (__get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8))
		coverage_add(found, FINDING_OK, "clock", NULL,
			     "the time stamp counter runs at a constant rate");
	else
		coverage_add(
			found, FINDING_WARN, "clock",
			"times still are right, each event costs more",
			"the time stamp counter is not said to be constant: clock_gettime is used");
}

static void check_fork_page(struct coverage *found)
{
	size_t bytes = (size_t)sysconf(_SC_PAGESIZE);
	void *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page != MAP_FAILED && madvise(page, bytes, MADV_WIPEONFORK) == 0)
		coverage_add(found, FINDING_OK, "fork", NULL,
			     "the kernel clears pages on fork (MADV_WIPEONFORK): forked children "
			     "are told "
			     "apart");
	else
		coverage_add(found, FINDING_BAD, "fork", "Linux 4.14 or later is needed",
			     "madvise(MADV_WIPEONFORK): %s", strerror(errno));
	if (page != MAP_FAILED)
		munmap(page, bytes);
}

static void check_shm(struct coverage *found)
{
	struct statvfs fs;
	uint64_t free_bytes, ring = env_number(ENV_SHINY_RING);

	if (statvfs("/dev/shm", &fs) != 0) {
		coverage_add(found, FINDING_WARN, "/dev/shm",
			     "rings go to $TMPDIR or /tmp: mount a tmpfs on /dev/shm for speed",
			     "%s", strerror(errno));
		return;
	}
	free_bytes = (uint64_t)fs.f_bavail * fs.f_frsize;
	if (access("/dev/shm", W_OK) != 0)
		coverage_add(found, FINDING_WARN, "/dev/shm", "rings go to $TMPDIR or /tmp", "%s",
			     strerror(errno));
	else if (free_bytes < ring)
		coverage_add(found, FINDING_WARN, "/dev/shm",
			     "a smaller ring is made; or mount it larger, or use --ring",
			     "%s free, one ring takes %s", units_bytes(UNITS_BUF, free_bytes),
			     units_bytes(UNITS_BUF, ring));
	else
		coverage_add(found, FINDING_OK, "/dev/shm", NULL, "%s free, room for %s of %s",
			     units_bytes(UNITS_BUF, free_bytes),
			     units_noun(UNITS_NOUN_BUF, free_bytes / ring, "ring"),
			     units_bytes(UNITS_BUF, ring));
}

static void check_library(struct coverage *found, const char *asked)
{
	char library[PROGRAM_PATH];
	struct program_look look;
	struct shiny_err *err = program_library(asked, library);

	if (!err)
		err = program_look(library, &look);
	if (err) {
		coverage_add(found, FINDING_BAD, "libshiny.so", err->advice, "%s", err->message);
		shiny_err_free(err);
	} else {
		coverage_add(found, FINDING_OK, "libshiny.so", NULL, "%s, build-id %.12s", library,
			     *look.build_id ? look.build_id : "none");
	}
}

/* Checks a library that shinyctl runs with, by a function that returns its version; looked up at
 * run time, so no header is needed. */
static void check_loaded(struct coverage *found, const char *name, const char *function,
			 bool number)
{
	void *symbol = dlsym(RTLD_DEFAULT, function);

	if (!symbol)
		coverage_add(found, FINDING_WARN, name, NULL,
			     "linked, but it does not tell its version");
	else if (number)
		coverage_add(found, FINDING_OK, name, NULL, "version %u",
			     ((unsigned (*)(void))symbol)());
	else
		coverage_add(found, FINDING_OK, name, NULL, "version %s",
			     ((const char *(*)(void))symbol)());
}

static void check_ptrace(struct coverage *found)
{
	char text[16] = "";
	int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0)
		coverage_add(found, FINDING_OK, "ptrace", NULL,
			     "kernel.yama.ptrace_scope is %c; `snapshot` alone needs ptrace%s",
			     text[0],
			     text[0] == '0' || geteuid() == 0 ? "" : ", and is refused it");
	else
		coverage_add(found, FINDING_OK, "ptrace", NULL,
			     "not restricted by yama; `snapshot` alone needs ptrace");
}

/* True if the processor has counters; hybrid ones name theirs cpu_core. */
static bool has_pmu(void)
{
	return access("/sys/bus/event_source/devices/cpu", F_OK) == 0 ||
	       access("/sys/bus/event_source/devices/cpu_core", F_OK) == 0;
}

static void check_accesses(struct coverage *found)
{
	int why = breakpoint_event_probe();

	if (!why)
		coverage_add(found, FINDING_OK, "accesses", NULL,
			     "blocks can be watched by debug registers (SHINY_ACCESS=watch)");
	else
		coverage_add(
			found, FINDING_WARN, "accesses",
			why == EACCES || why == EPERM
				? "sysctl kernel.perf_event_paranoid=2; containers refuse it, too"
				: NULL,
			"which blocks are used cannot be known: %s", breakpoint_event_reason(why));
	why = referenced_probe();
	if (!why)
		coverage_add(found, FINDING_OK, "accesses", NULL,
			     "touched pages can be counted by mapping, by the kernel's page marks "
			     "(SHINY_ACCESS=pages)");
	else
		coverage_add(found, FINDING_WARN, "accesses", NULL,
			     "which pages are touched cannot be known: clear_refs: %s",
			     strerror(why));
	coverage_add(
		found, FINDING_OK, "accesses", NULL,
		has_pmu()
			? "the processor's own samples (PMU) are not read: cache misses and "
			  "mispredicted branches by type are unknown"
			: "the processor has no performance counters (PMU) here: cache misses and "
			  "mispredicted branches by type are unknown");
}

static void check_confinement(struct coverage *found)
{
	char text[200];

	if (confine_describe(text, sizeof(text)))
		coverage_add(found, FINDING_OK, "confinement", NULL, "%s", text);
	else
		coverage_add(found, FINDING_WARN, "confinement",
			     "what reads files of others has all rights that you have: SECURITY.md",
			     "%s", text);
}

static void check_machine(struct coverage *found, const char *library)
{
	struct program_look self;
	char path[PROGRAM_PATH];
	struct shiny_err *err;

	program_self(path);
	coverage_add(found, FINDING_OK, "shinyctl", NULL, "version %s, %s", SHINY_VERSION_TEXT,
		     path);
	err = program_look(path, &self);
	if (err) {
		coverage_add(found, FINDING_WARN, "shinyctl", err->advice, "%s", err->message);
		shiny_err_free(err);
	}
	check_library(found, library);
	check_clock(found);
	check_fork_page(found);
	check_shm(found);
	check_loaded(found, "elfutils", "dwfl_version", false);
	check_loaded(found, "SQLite", "sqlite3_libversion", false);
	check_loaded(found, "zstd", "ZSTD_versionString", false);
	check_ptrace(found);
	check_confinement(found);
	check_accesses(found);
	if (env_complain(environ, stderr) == 0)
		coverage_add(found, FINDING_OK, "environment", NULL, "no SHINY_ variable is wrong");
	else
		coverage_add(found, FINDING_WARN, "environment", "see the lines above",
			     "SHINY_ variables are wrong");
}

/* ---- a program ---- */

static void check_names(struct coverage *found, const struct program_look *look)
{
	if (look->dwarf)
		coverage_add(found, FINDING_OK, "names", NULL,
			     "debug information inside: functions, files and lines");
	else if (look->symbols)
		coverage_add(found, FINDING_OK, "names", "files and lines need its debug package",
			     "symbol table inside: functions");
	else
		coverage_add(found, FINDING_WARN, "names",
			     "install its debug package (-dbgsym), or point --symbols at the debug "
			     "files",
			     "stripped: exported functions only; build-id %s",
			     *look->build_id ? look->build_id : "none");
}

/* Checks Chromium's setuid helper next to the program. test/e2e/sandbox_test runs it. */
static void check_helper(struct coverage *found, const char *path)
{
	const char *base = text_base(path);
	char helper[PROGRAM_PATH + 32];
	struct stat st;

	snprintf(helper, sizeof(helper), "%.*schrome-sandbox", (int)(base - path), path);
	if (stat(helper, &st) == 0 && st.st_mode & S_ISUID)
		coverage_add(
			found, FINDING_OK, "setuid helper", NULL,
			"%s is not recorded itself: the dynamic linker ignores preloaded libraries "
			"in it. Chromium hands "
			"LD_PRELOAD on around it, so the zygotes and what they fork are recorded",
			helper);
}

static struct shiny_err *check_program(struct coverage *found, const char *path, unsigned scripts);

/* Checks a script's interpreter, or the program that `env` finds: it is recorded in place of the
 * script. */
static struct shiny_err *check_interpreter(struct coverage *found, const char *script,
					   const struct program_look *look, unsigned scripts)
{
	char path[PROGRAM_PATH];
	struct shiny_err *err = NULL;

	coverage_add(found, FINDING_OK, "script", NULL,
		     "%s: its interpreter %s%s%s is recorded, and what it starts", script,
		     look->interpreter, *look->argument ? " " : "", look->argument);
	snprintf(path, sizeof(path), "%s", look->interpreter);
	if (strcmp(text_base(look->interpreter), "env") == 0 && *look->argument &&
	    *look->argument != '-')
		err = program_find(look->argument, path);
	else
		err = program_find(look->interpreter, path);
	if (!err && scripts < SCRIPTS_MOST)
		return check_program(found, path, scripts + 1);
	if (err)
		coverage_add(found, FINDING_BAD, "interpreter", err->advice, "%s", err->message);
	shiny_err_free(err);
	return NULL;
}

/* Checks the garbage-collected heap of a program with PartitionAlloc, as the library will see
 * it. */
static void check_collected(struct coverage *found, const char *path)
{
	static const char *const seen[SHINY_PROBE_KINDS] = { [SHINY_PROBE_ALLOCATE] = "made",
							     [SHINY_PROBE_FREE] = ", swept",
							     [SHINY_PROBE_MOVE] = ", moved",
							     [SHINY_PROBE_RESIZE] = ", resized",
							     [SHINY_PROBE_RELEASE] =
								     ", freed at once" };
	struct probe probe;
	struct shiny_err *err = probe_open(path, &(struct probe_options){ 0 }, &probe);
	uint32_t kinds = 0, count = 0, unfit = 0;
	char text[128] = "";
	size_t used = 0;

	if (err) {
		coverage_add(found, FINDING_WARN, "Oilpan", err->advice,
			     "its objects are not seen: %s", err->message);
		shiny_err_free(err);
		return;
	}
	for (uint32_t i = 0; i < probe.file->entry_count; i++) {
		const struct shiny_probe_entry *e = &probe.file->entries[i];

		if (e->kind == SHINY_PROBE_NEW || e->kind == SHINY_PROBE_DELETE)
			continue;
		kinds |= UINT32_C(1) << e->kind;
		count++;
		unfit += e->confidence < SHINY_PROBE_HIGH || !e->recipe_bytes;
	}
	for (unsigned k = 0; k < SHINY_PROBE_KINDS; k++)
		if (seen[k] && kinds >> k & 1)
			used += (size_t)snprintf(text + used, sizeof(text) - used, "%s", seen[k]);
	if (count && !unfit && kinds >> SHINY_PROBE_ALLOCATE & 1)
		coverage_add(
			found, FINDING_OK, "Oilpan",
			"shinyctl doctor --probe FILE shows the evidence",
			"the garbage collector's objects: %s to patch; they are seen when they are "
			"%s; their destructors, too, but not where the "
			"executable checks what it calls (control-flow integrity: the session "
			"says)",
			units_noun(UNITS_NOUN_BUF, count, "place"), text);
	else
		coverage_add(
			found, FINDING_WARN, "Oilpan", "shinyctl doctor --probe FILE says why",
			"the garbage collector's objects are not seen: %s",
			count ? "not all functions that make them were found, or can be patched"
			      : "no functions were found that make them");
	probe_close(&probe);
}

static struct shiny_err *check_inside(struct coverage *found, const char *path,
				      const struct program_look *look)
{
	const char *setting = env_text(ENV_SHINY_ALLOCATOR);
	struct allocator_found own = { .why = "" };
	struct shiny_err *err = allocator_prepare(path, setting, &own);

	if (err && err->code == SHINY_ERR_USAGE)
		return err;
	if (err)
		coverage_add(found, FINDING_WARN, "allocator", err->advice,
			     "inside the executable it cannot be reached: %s", err->message);
	else if (strcmp(setting, "off") == 0 && look->malloc == PROGRAM_MALLOC_OWN)
		coverage_add(found, FINDING_WARN, "allocator", NULL,
			     "its own malloc is left alone: SHINY_ALLOCATOR=off");
	else if (own.patches)
		coverage_add(found, FINDING_OK, "allocator", NULL,
			     "its own, inside the executable: the entries of %u of its functions "
			     "will be "
			     "patched (%s)%s%s",
			     own.patches, own.path, *own.why ? "; left out: " : "", own.why);
	else if (*own.why || look->malloc == PROGRAM_MALLOC_OWN)
		coverage_add(found, FINDING_WARN, "allocator", NULL,
			     "its own malloc, inside the executable, cannot be reached: %s",
			     *own.why ? own.why : "its functions have no names");
	shiny_err_free(err);
	return NULL;
}

static void check_sanitizer(struct coverage *found, const char *name)
{
	if (name)
		coverage_add(
			found, FINDING_OK, "sanitizer", NULL,
			"%s begins before we do, and finds what it finds without us; in its "
			"reports, "
			"%s",
			name,
			strcmp(name, "ThreadSanitizer") == 0
				? "libshiny.so may stand in place of the function that allocated "
				  "or "
				  "freed"
				: "frames of libshiny.so may stand behind those of allocations and "
				  "frees");
}

static struct shiny_err *check_program(struct coverage *found, const char *path, unsigned scripts)
{
	struct program_look look;
	struct shiny_err *err = program_look(path, &look);
	const char *obstacle = err ? NULL : program_obstacle(&look);

	if (err)
		return err;
	switch (look.kind) {
	case PROGRAM_ELF:
		coverage_add(found, FINDING_OK, "program", NULL,
			     "%s: x86-64, dynamically linked by %s", path, look.interpreter);
		break;
	case PROGRAM_SCRIPT:
		return check_interpreter(found, path, &look, scripts);
	case PROGRAM_OTHER:
		coverage_add(found, FINDING_BAD, "program", "give a program or a .shiny file",
			     "%s: neither a program nor a session file", path);
		return NULL;
	default:
		break;
	}
	if (obstacle)
		coverage_add(found, FINDING_BAD, "recording",
			     look.kind == PROGRAM_SHARED
				     ? "give the program that loads it"
				     : "programs that it starts can still be recorded",
			     "%s: %s", path, obstacle);
	else if (look.privileged)
		coverage_add(
			found, FINDING_WARN, "recording",
			"let root record it, or a copy of it without these rights",
			"%s is set-uid, set-gid or has file capabilities: for others than root the "
			"dynamic linker ignores preloaded libraries",
			path);
	if (!obstacle && look.go)
		coverage_add(
			found, FINDING_WARN, "heap", NULL,
			"a Go program: its heap is the Go run time's own; only what its C parts "
			"allocate is seen");
	if (look.kind != PROGRAM_ELF)
		return NULL;
	check_sanitizer(found, look.sanitizer);
	if (look.malloc == PROGRAM_MALLOC_PARTITION)
		coverage_add(
			found, FINDING_OK, "allocator",
			"the session says per process whether it worked: shinyctl doctor "
			"FILE.shiny",
			"its own: it exports malloc and holds PartitionAlloc. Its exported entries "
			"are decoded at start; only if they agree is the "
			"dispatch chain hooked, else it is left alone");
	else if (look.malloc == PROGRAM_MALLOC_LIBRARY)
		coverage_add(found, FINDING_OK, "allocator", NULL, "%s%s: reached by symbols",
			     look.allocator ? look.allocator : "the C library's",
			     look.allocator ? ", linked as a shared library" : "");
	err = look.malloc != PROGRAM_MALLOC_PARTITION ? check_inside(found, path, &look) : NULL;
	if (look.malloc == PROGRAM_MALLOC_PARTITION) {
		check_collected(found, path);
		check_helper(found, path);
	}
	check_names(found, &look);
	return err;
}

/* ---- a session ---- */

static struct shiny_err *check_session(struct coverage *found, const char *path)
{
	struct store *store;
	struct shiny_err *err = store_open(path, &store);

	if (err)
		return err;
	err = coverage_load(store, found);
	store_close(store);
	return err;
}

static bool is_database(const char *path)
{
	static const char magic[] = "SQLite format 3";
	char head[sizeof(magic)] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	bool yes = fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
		   memcmp(head, magic, sizeof(magic)) == 0;

	if (fd >= 0)
		close(fd);
	return yes;
}

static struct shiny_err *check_file(struct coverage *found, const char *what)
{
	char path[PROGRAM_PATH];

	if (is_database(what))
		return check_session(found, what);
	if (!strchr(what, '/') && access(what, R_OK) != 0)
		SHINY_TRY(program_find(what, path));
	else
		snprintf(path, sizeof(path), "%s", what);
	if (access(path, R_OK) != 0)
		return shiny_err_os(errno, "cannot read %s", path);
	return check_program(found, path, 0);
}

static struct shiny_err *load_doctor(struct ctl *ctl, struct store *store,
				     const struct filter *filter, void *result)
{
	const char *what = ctl->options.operands[0];
	struct coverage *found = result;
	struct shiny_err *err = NULL;

	if (what)
		confine_verb(&ctl->options, CONFINE_NAMER, NULL, 0);
	if (what)
		err = check_file(found, what);
	else
		check_machine(found, ctl->options.text[OPT_LIBRARY]);
	for (size_t i = 0; i < found->count && !err; i++)
		ctl->status |= found->rows[i].state == FINDING_BAD;
	if (err)
		coverage_deinit(found);
	return err;
}
VERB_BODY_DEINIT(struct coverage, coverage_deinit)

static struct shiny_err *print_doctor(struct ctl *ctl, const struct answer *answer)
{
	static const enum tint tints[] = { TINT_GOOD, TINT_WARN, TINT_BAD };
	const struct coverage *found = answer->result;
	const struct style *style = &ctl->style;

	for (size_t i = 0; i < found->count; i++) {
		const struct finding *row = &found->rows[i];

		fprintf(style->out, "%s%-5s%s ", tint(style, tints[row->state]),
			finding_state_names[row->state], tint_end(style, tints[row->state]));
		text_line(style->out, "%-16s %s", row->name, row->text);
		if (row->advice)
			text_line(style->out, "%23s→ %s", "", row->advice);
	}
	return NULL;
}

/* clang-format off */
static const struct field check_fields[] = {
	{ FIELD_TEXT("name", struct finding, name), .help = "its subject" },
	{ FIELD_WORD("state", struct finding, state, finding_state_names),
	  .help = "ok, warn or bad" },
	{ FIELD_TEXT("text", struct finding, text), .help = "what was found" },
	{ FIELD_TEXT("advice", struct finding, advice), .help = "what to do; null: nothing" },
	FIELD_LAST
};
static const struct field doctor_fields[] = {
	{ FIELD_ROWS("checks", struct coverage, rows, count, check_fields),
	  .help = "a check" },
	FIELD_LAST
};
/* clang-format on */

const struct verb_body verb_doctor = {
	.fields = doctor_fields,
	.size = sizeof(struct coverage),
	.load = load_doctor,
	.deinit = coverage_deinit_result,
	.print = print_doctor,
	.no_session = true,
};
