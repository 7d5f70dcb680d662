/* SPDX-License-Identifier: Apache-2.0 */
/*
 * modules.c: records the loaded modules for the sidecar, and keeps tables that answer three
 * questions: is this code, how is its stack unwound, can this be a vtable?
 *
 * Readers are hooks on any thread, at any moment, so nothing is changed under them: tables come in
 * pairs, an update fills the one that is not in use and then switches. A reader that sleeps through
 * two updates may see a table being refilled; it gets a wrong yes or no, never a bad read: code
 * bytes are read only in modules that were there at boot, which dlclose never unmaps, and a vtable
 * candidate's memory is not touched at all. For unwinding a wrong answer would be a bad read (one
 * module's addresses with another's table), so there the reader checks whether a refill has begun
 * meanwhile, and repeats.
 *
 * Vtables live in PT_GNU_RELRO. A module linked without it has them in its writable segment, and a
 * fixed-address executable (no relocations to apply) in a read-only one: those ranges are included
 * too. The sidecar corrects a wrong yes.
 *
 * A dlclose is bracketed by two updates. A dlopen cannot be (its hook must tail-jump), so the first
 * one raises a flag that stays up: from then on a new stack with a frame in no known module asks
 * dl_iterate_phdr whether anything was added, which it answers in its first callback. The lock that
 * this takes is the one around the loader's list, held for moments and never while constructors
 * run. Of two updaters at once, the second leaves a mark and the first repeats its update.
 */
#define _GNU_SOURCE
#include "modules.h"

#include <elf.h>
#include <link.h>

#include "../record/chunk.h"
#include "bare_code.h"
#include "../core/clock.h"
#include "../core/granule.h"
#include "rows.h"
#include "../core/settings.h"
#include "../core/sys.h"
#include "../record/thread.h"

enum { MODULES = 1024, RANGES = 2 * MODULES, ROUNDS = 4 };

struct known {
	uintptr_t start, end, bias;
	bool lasting, seen;
};
struct range {
	uintptr_t start, end;
	bool lasting;
	struct si_cfi_view unwind;
};
struct ranges {
	uint32_t count;
	struct range at[RANGES];
};

static struct known known[MODULES];
static uint32_t known_count;
static struct ranges ranges[2];
static const struct ranges *ranges_now;
static uint64_t granules[2][SI_GRANULES];
uint32_t si_modules_suspect;
uint64_t si_modules_generation = 1;
static uint32_t refills; /* number of refills begun */

/* For si_modules_elsewhere: copies, so that an update reads no unmapped memory. */
enum { ELSEWHERE = 32, NOTED = 16 };
static struct {
	struct dl_phdr_info info;
	ElfW(Phdr) parts[SI_MODULE_PARTS];
} elsewhere[ELSEWHERE];
static uint32_t elsewhere_count, elsewhere_met;
static bool elsewhere_changed;
static struct noted {
	uintptr_t bias;
	uint32_t flags;
} noted[NOTED];
static uint32_t noted_count;

enum { IDLE = 0, BUSY = 1, AGAIN = 2 };
static uint32_t updating;
static unsigned long long last_adds, last_subs;
static bool booted;
static char first_directory[SHINY_PATH_MAX]; /* the process's directory at boot; later the kernel is
                                              * not asked (calls.def) */

struct update {
	const uintptr_t *fp;
	struct si_writer *w; /* entered by the caller, or NULL */
	struct ranges *code;
	uint64_t *granules;
	bool changed, first;
};

/* Returns the range of code that contains the return address `pc`, or NULL. */
static const struct range *find_code(uintptr_t pc)
{
	const struct ranges *r = __atomic_load_n(&ranges_now, __ATOMIC_ACQUIRE);
	uint32_t low = 0, high = r ? r->count : 0;

	if (high > RANGES)
		high = RANGES;
	while (low < high) {
		uint32_t middle = (low + high) / 2;

		if (r->at[middle].end <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	/* a call instruction of up to seven bytes lies before the return address, in the same
	 * range */
	if (!r || low >= RANGES || low >= r->count || pc < r->at[low].start + 8 ||
	    pc >= r->at[low].end)
		return NULL;
	return &r->at[low];
}

enum si_code si_module_code(uintptr_t pc)
{
	const struct range *r = find_code(pc);

	return !r ? SI_CODE_NONE : r->lasting ? SI_CODE_LASTING : SI_CODE_PASSING;
}

enum si_code si_module_view(uintptr_t pc, struct si_cfi_view *view)
{
	for (unsigned n = 0; n < ROUNDS; n++) {
		uint32_t before = __atomic_load_n(&refills, __ATOMIC_ACQUIRE);
		const struct range *r = find_code(pc);
		struct range copy = { 0 };

		if (r)
			copy = *r;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (__atomic_load_n(&refills, __ATOMIC_RELAXED) != before)
			continue;
		*view = copy.unwind;
		view->code_low = copy.start;
		view->code_high = copy.end;
		return !r ? SI_CODE_NONE : copy.lasting ? SI_CODE_LASTING : SI_CODE_PASSING;
	}
	return SI_CODE_NONE;
}

uintptr_t si_module_start(uintptr_t address)
{
	for (uint32_t i = 0; i < known_count; i++)
		if (address >= known[i].start && address < known[i].end)
			return known[i].start;
	return 0;
}

void si_modules_forget(void)
{
	updating = IDLE;
}

static void add_page(uint64_t *table, uintptr_t address)
{
	uint64_t granule = address >> SI_GRANULE_SHIFT;
	uint32_t slot = si_granule_slot(granule);

	for (unsigned n = 0; n < SI_GRANULE_PROBES; n++) {
		uint64_t *at = &table[(slot + n) % SI_GRANULES];

		if (*at == 0 || *at >> SI_GRANULE_SHIFT == granule) {
			*at |= granule << SI_GRANULE_SHIFT | si_granule_page(address);
			break;
		}
	}
}

static void add_pages(uint64_t *table, uintptr_t start, uintptr_t end)
{
	const uintptr_t page = (uintptr_t)1 << SI_PAGE_SHIFT;

	for (uintptr_t at = start & -page; at < end; at += page)
		add_page(table, at);
}

static void add_code(struct ranges *r, uintptr_t start, uintptr_t end, bool lasting,
		     const struct si_cfi_view *unwind)
{
	uint32_t i;

	if (r->count == RANGES)
		return;
	for (i = r->count; i > 0 && r->at[i - 1].start > start; i--)
		r->at[i] = r->at[i - 1];
	r->at[i] = (struct range){ start, end, lasting, *unwind };
	r->count++;
}

uint16_t si_build_id(const struct dl_phdr_info *info, uint8_t *id)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const char *at = (const char *)(info->dlpi_addr + p->p_vaddr),
			   *end = at + p->p_memsz;

		if (p->p_type != PT_NOTE)
			continue;
		while ((size_t)(end - at) >= sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const ElfW(Nhdr) *)at;
			size_t name = (note->n_namesz + 3u) & ~3u,
			       body = (note->n_descsz + 3u) & ~3u;

			at += sizeof(*note);
			if (name > (size_t)(end - at) || body > (size_t)(end - at) - name)
				break;
			if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 &&
			    si_same(at, "GNU", 4) && note->n_descsz <= SHINY_BUILD_ID_MAX) {
				for (unsigned b = 0; b < note->n_descsz; b++)
					id[b] = (uint8_t)at[name + b];
				return (uint16_t)note->n_descsz;
			}
			at += name + body;
		}
	}
	return 0;
}

void si_modules_note(uintptr_t bias, uint32_t flags)
{
	struct noted *n = noted;

	while (n < noted + NOTED && n < noted + noted_count && n->bias != bias)
		n++;
	if (n == noted + NOTED || n == noted + noted_count) {
		if (!flags)
			return;
		n = &noted[noted_count++ % NOTED];
		*n = (struct noted){ .bias = bias };
	}
	n->flags = flags ? n->flags | flags : 0;
}

static uint32_t flags_noted(uintptr_t bias)
{
	for (uint32_t i = 0; i < NOTED && i < noted_count; i++)
		if (noted[i].bias == bias)
			return noted[i].flags;
	return 0;
}

bool si_modules_header(const struct link_map *map, struct dl_phdr_info *info)
{
	const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)map->l_addr;

	if (!file || (uintptr_t)map->l_ld < map->l_addr ||
	    !si_same((const char *)file->e_ident, ELFMAG, SELFMAG) ||
	    file->e_phnum > SI_MODULE_PARTS)
		return false;
	*info = (struct dl_phdr_info){ .dlpi_addr = map->l_addr,
				       .dlpi_name = map->l_name,
				       .dlpi_phdr = (const void *)(map->l_addr + file->e_phoff),
				       .dlpi_phnum = file->e_phnum };
	return true;
}

void si_modules_elsewhere(const struct link_map *map)
{
	struct dl_phdr_info found, *info = &elsewhere[elsewhere_met].info;
	ElfW(Phdr) *parts = elsewhere[elsewhere_met].parts;

	if (elsewhere_met == ELSEWHERE || !si_modules_header(map, &found))
		return;
	if (elsewhere_met++ < elsewhere_count && info->dlpi_addr == map->l_addr)
		return;
	elsewhere_changed = true;
	__builtin_memcpy(parts, found.dlpi_phdr, found.dlpi_phnum * sizeof(*parts));
	*info = found;
	info->dlpi_phdr = parts;
}

bool si_modules_elsewhere_end(void)
{
	bool changed = elsewhere_changed || elsewhere_met != elsewhere_count;

	elsewhere_count = elsewhere_met;
	elsewhere_met = 0;
	elsewhere_changed = false;
	return changed;
}

static bool is_relative(const struct dl_phdr_info *info)
{
	return info->dlpi_name[0] != '/';
}

/* Makes an absolute path of the module's name. */
static void module_path(const struct dl_phdr_info *info, bool main_module, bool kernel,
			struct si_text *path)
{
	if (main_module) {
		si_text_add(path, si_executable);
	} else if (kernel) {
		si_text_add(path, "[vdso]");
	} else {
		if (is_relative(info)) {
			si_text_add(path, first_directory);
			if (path->used > 1)
				si_text_add(path, "/");
		}
		si_text_add(path, info->dlpi_name);
	}
}

static void write_module(const struct update *u, const struct dl_phdr_info *info,
			 const struct known *k, bool main_module, bool kernel)
{
	struct si_writer *w = u->w ? u->w : si_enter_any(u->fp);
	struct shiny_record *payload;
	struct shiny_module m = { .start = k->start, .end = k->end, .bias = k->bias };
	static char path_text[SHINY_PATH_MAX]; /* one update runs at a time; the stack may be
	                                        * small */
	struct si_text path;
	uint32_t records;
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	si_text_init(&path, path_text, sizeof(path_text));
	module_path(info, main_module, kernel, &path);
	m.flags = (main_module ? SHINY_MODULE_MAIN : 0) |
		  (main_module && k->bias == 0 ? SHINY_MODULE_FIXED : 0) |
		  (booted && !main_module && is_relative(info) ? SHINY_MODULE_GUESSED : 0) |
		  flags_noted(k->bias) |
		  (booted ? SHINY_MODULE_LATE : 0);
	m.path_bytes = (uint16_t)path.used;
	m.build_id_bytes = si_build_id(info, m.build_id);
	records = (uint32_t)((sizeof(m) + path.used + SHINY_RECORD_BYTES - 1) / SHINY_RECORD_BYTES);
	payload = si_run(w, records, now);
	if (payload) {
		char *to = (char *)payload;

		__builtin_memcpy(to, &m, sizeof(m));
		__builtin_memcpy(to + sizeof(m), path_text, path.used);
		__builtin_memset(to + sizeof(m) + path.used, 0,
				 records * SHINY_RECORD_BYTES - sizeof(m) - path.used);
		si_run_publish(w, SHINY_REC_MODULE, 0, 0, 0, records, now);
	} else {
		si_lose(w);
	}
	if (!u->w)
		si_leave(w);
}

static void write_gone(const struct update *u, const struct known *k)
{
	struct si_writer *w = u->w ? u->w : si_enter_any(u->fp);
	struct shiny_record *payload;
	uint64_t now;

	if (!w)
		return;
	now = si_ticks();
	payload = si_run(w, 1, now);
	if (payload) {
		payload->w0 = k->start;
		payload->w1 = k->end;
		si_run_publish(w, SHINY_REC_MODULE_GONE, 0, 0, 0, 1, now);
	} else {
		si_lose(w);
	}
	if (!u->w)
		si_leave(w);
}

/* Finds the module's .eh_frame_hdr, and the mapped file bytes around it. */
static struct si_cfi_view find_unwind(const struct dl_phdr_info *info)
{
	struct si_cfi_view view = { 0 };

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
			view.table = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && p->p_flags & PF_R && view.table >= start &&
		    view.table - start < p->p_filesz) {
			view.low = start;
			view.high = start + p->p_filesz;
			return view;
		}
	}
	return (struct si_cfi_view){ 0 };
}

static void add_ranges(struct update *u, const struct dl_phdr_info *info, bool lasting,
		       bool main_module)
{
	struct si_cfi_view unwind = find_unwind(info);
	bool relro = false, fixed = main_module && info->dlpi_addr == 0;

	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		relro |= info->dlpi_phdr[i].p_type == PT_GNU_RELRO;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr, end = start + p->p_memsz;

		if (p->p_type == PT_GNU_RELRO) {
			add_pages(u->granules, start, end);
		} else if (p->p_type == PT_LOAD) {
			if (p->p_flags & PF_X)
				add_code(u->code, start, end, lasting, &unwind);
			if (p->p_flags & PF_X && main_module && !booted)
				si_bare_code_learn(start, end, &unwind);
			if ((fixed && !(p->p_flags & PF_W)) || (!relro && (p->p_flags & PF_W)))
				add_pages(u->granules, start, start + p->p_filesz);
		}
	}
}

static struct known *find_or_add(const struct dl_phdr_info *info, uintptr_t start, uintptr_t end,
				 bool *fresh)
{
	for (uint32_t i = 0; i < known_count; i++)
		if (known[i].start == start && known[i].end == end &&
		    known[i].bias == info->dlpi_addr)
			return &known[i];
	if (known_count == MODULES) {
		si_count(SHINY_COUNT_MODULES_UNTRACKED);
		return NULL;
	}
	known[known_count] = (struct known){ start, end, info->dlpi_addr, !booted, false };
	*fresh = true;
	return &known[known_count++];
}

static int one_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct update *u = context;
	uintptr_t start = UINTPTR_MAX, end = 0;
	bool fresh = false, main_module = u->first, kernel;
	struct known *k;

	if (u->first) {
		u->first = false;
		if (booted && size > offsetof(struct dl_phdr_info, dlpi_subs) &&
		    info->dlpi_adds == last_adds && info->dlpi_subs == last_subs)
			return 1;
		u->changed = true;
		last_adds = info->dlpi_adds;
		last_subs = info->dlpi_subs;
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		if (p->p_type != PT_LOAD)
			continue;
		if (info->dlpi_addr + p->p_vaddr < start)
			start = info->dlpi_addr + p->p_vaddr;
		if (info->dlpi_addr + p->p_vaddr + p->p_memsz > end)
			end = info->dlpi_addr + p->p_vaddr + p->p_memsz;
	}
	if (start >= end)
		return 0;
	k = find_or_add(info, start, end, &fresh);
	if (!k || k->seen) /* every namespace contains the loader itself */
		return 0;
	k->seen = true;
	kernel = !main_module && si_same(info->dlpi_name, "linux-", 6);
	if (fresh)
		write_module(u, info, k, main_module, kernel);
	add_ranges(u, info, k->lasting, main_module);
	return 0;
}

static void update_once(const uintptr_t *fp, struct si_writer *w)
{
	struct update u = {
		.fp = fp,
		.w = w,
		.code = &ranges[ranges_now == &ranges[0]],
		.granules = granules[si_granules == granules[0]],
		.first = true,
	};
	uint32_t kept = 0;

	__atomic_fetch_add(&refills, 1, __ATOMIC_SEQ_CST);
	u.code->count = 0;
	__builtin_memset(u.granules, 0, sizeof(granules[0]));
	for (uint32_t i = 0; i < known_count; i++)
		known[i].seen = false;
	dl_iterate_phdr(one_module, &u);
	if (!u.changed)
		return;
	for (uint32_t i = 0; i < elsewhere_count; i++)
		one_module(&elsewhere[i].info, sizeof(elsewhere[i].info), &u);
	for (uint32_t i = 0; i < known_count; i++) {
		if (known[i].seen)
			known[kept++] = known[i];
		else
			write_gone(&u, &known[i]);
	}
	known_count = kept;
	__atomic_store_n(&ranges_now, u.code, __ATOMIC_RELEASE);
	__atomic_store_n(&si_granules, u.granules, __ATOMIC_RELEASE);
	if ((si_modules_generation + 1) % SI_GENERATIONS == 0)
		si_rows_forget();
	__atomic_store_n(&si_modules_generation, si_modules_generation + 1, __ATOMIC_RELEASE);
	__atomic_fetch_add(&si_rows_epoch, 1, __ATOMIC_RELEASE);
	booted = true;
}

void si_modules_boot(const uintptr_t *fp)
{
	if (si_sys_getcwd(first_directory, sizeof(first_directory)) < 0 ||
	    first_directory[0] != '/')
		first_directory[0] = 0;
	si_modules_update(fp, NULL);
}

void si_modules_update(const uintptr_t *fp, struct si_writer *w)
{
	if (__atomic_exchange_n(&updating, AGAIN, __ATOMIC_ACQUIRE) != IDLE)
		return; /* the running updater repeats its update */
	for (unsigned n = 0; n < ROUNDS; n++) {
		uint32_t busy = BUSY;

		__atomic_store_n(&updating, BUSY, __ATOMIC_RELAXED);
		update_once(fp, w);
		if (__atomic_compare_exchange_n(&updating, &busy, IDLE, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED))
			return;
	}
	__atomic_store_n(&updating, IDLE, __ATOMIC_RELEASE);
}
