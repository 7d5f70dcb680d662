/* SPDX-License-Identifier: Apache-2.0 */
/*
 * python_allocator.c: see python_allocator.h.
 *
 * CPython has an allocator in front of malloc for two kinds of blocks, PyMem's and PyObject's, each
 * with its functions in a struct. PyMem_SetAllocator changes the structs. Its raw blocks are
 * malloc's, and are seen there, as are the others where it was built without that allocator, or the
 * user chose malloc.
 *
 * Rejected: entry patches. Optimized builds compare the function in the struct with the usual one,
 * and have that inlined at each call (190 times in Debian's 3.11).
 */
#define _GNU_SOURCE
#include "python_allocator.h"

#include <link.h>

#include "../core/env.h"
#include "../hook/type_objects.h"
#include "../record/watched_slots.h"
#include "../unwind/main_image.h"
#include "../unwind/modules.h"
#include "../unwind/symbols.h"
#include "own_calls.h"

enum { PYTHONS = 2, DOMAIN_RAW = 0, DOMAIN_MEMORY = 1, DOMAIN_OBJECT = 2, NO = SHINY_CALL_NO };
_Static_assert(PYTHONS * 2 * SI_SLOT_FUNCTIONS <= SI_OWN_SLOTS, "each function has an entry");

/* PyMemAllocatorEx. */
struct python_allocator {
	void *context;
	si_own_fn *functions[SI_SLOT_FUNCTIONS]; /* malloc, calloc, realloc, free */
};

static struct python {
	struct si_main_image image;
	const char *path; /* NULL: the executable */
	void (*get)(int domain, struct python_allocator *allocator);
	void (*set)(int domain, const struct python_allocator *allocator);
	const uint64_t *type_of_types; /* PyType_Type */
} pythons[PYTHONS];
static unsigned python_count;

static int note_python(struct dl_phdr_info *info, size_t size, void *context)
{
	struct python *p = &pythons[python_count];
	const ElfW(Sym) *get, *set, *type;
	struct si_symbols symbols;
	bool *main = context;

	(void)size;
	p->path = *main ? NULL : info->dlpi_name;
	*main = false;
	if (!si_symbols_read(si_dynamic_of(info), info->dlpi_addr, &symbols))
		return 0;
	get = si_symbols_find(&symbols, "PyMem_GetAllocator");
	set = si_symbols_find(&symbols, "PyMem_SetAllocator");
	type = si_symbols_find(&symbols, "PyType_Type");
	if (!get || !set || !type)
		return 0;
	*(void **)&p->get = (void *)(symbols.bias + get->st_value);
	*(void **)&p->set = (void *)(symbols.bias + set->st_value);
	p->type_of_types = (const uint64_t *)(symbols.bias + type->st_value);
	si_image_of(info, &p->image);
	return ++python_count == PYTHONS;
}

static void fill(unsigned n, enum shiny_api api, const struct python_allocator *real,
		 const struct si_own_family *family)
{
	/* argument 0 is the context */
	const struct shiny_allocator_call calls[SI_SLOT_FUNCTIONS] = {
		{ SHINY_CALL_MAKE, NO, 1, NO, NO, (uint8_t)api, 0, NO, NO, NO, NO },
		{ SHINY_CALL_MAKE, NO, 2, 1, NO, (uint8_t)api, 0, NO, NO, NO, NO },
		{ SHINY_CALL_MOVE, 1, 2, NO, NO, (uint8_t)api, 0, NO, NO, NO, NO },
		{ SHINY_CALL_END, 1, NO, NO, NO, (uint8_t)api, 0, NO, NO, NO, NO },
	};

	for (unsigned i = 0; i < SI_SLOT_FUNCTIONS; i++)
		si_own_fill(n + i, &calls[i], real->functions[i], family);
}

/* Finds the struct that contains what was just set: nothing else in the module's data does. */
static void watch(const struct python *p, const struct python_allocator *ours,
		  const struct python_allocator *real, uintptr_t raw)
{
	uintptr_t *at = (uintptr_t *)((p->image.written_start + 7) & -(uintptr_t)8),
		  *end = (uintptr_t *)(p->image.written_end - sizeof(*ours));

	for (; at <= end; at++)
		if (at[1] == (uintptr_t)ours->functions[0] &&
		    at[SI_SLOT_FUNCTIONS] == (uintptr_t)ours->functions[SI_SLOT_FUNCTIONS - 1])
			si_slots_watch(at, (const uintptr_t *)real->functions, raw,
				       p->image.written_start, p->image.written_end);
}

/* False: it has no allocator of its own, all blocks are malloc's. */
static bool attach(struct python *p, unsigned number)
{
	enum { BASIC_SIZE = 4 }; /* word of a type object: bytes of its objects */
	static const uint8_t apis[] = { [DOMAIN_MEMORY] = SHINY_API_PYTHON_MEMORY,
					[DOMAIN_OBJECT] = SHINY_API_PYTHON_OBJECT };
	struct si_own_family *family =
		&si_own_families[SI_OWN_FAMILIES - SI_OWN_SLOT_FAMILIES + number];
	struct python_allocator raw, real;

	*family = (struct si_own_family){ .inner = p->image.start,
					  .inner_bytes = p->image.end - p->image.start };
	p->get(DOMAIN_RAW, &raw);
	p->get(DOMAIN_OBJECT, &real);
	if (real.functions[0] == raw.functions[0])
		return false;
	si_type_objects_begin((size_t)p->type_of_types[BASIC_SIZE]);
	for (int domain = DOMAIN_MEMORY; domain <= DOMAIN_OBJECT; domain++) {
		unsigned n = SI_OWN_PATCHED + (2 * number + (domain == DOMAIN_OBJECT)) *
						      SI_SLOT_FUNCTIONS;
		struct python_allocator ours;

		p->get(domain, &real);
		fill(n, apis[domain], &real, family);
		ours.context = real.context;
		for (unsigned i = 0; i < SI_SLOT_FUNCTIONS; i++)
			*(void **)&ours.functions[i] = si_own_stub(n + i);
		p->set(domain, &ours);
		watch(p, &ours, &real, (uintptr_t)raw.functions[0]);
	}
	return true;
}

void si_python_attach(struct si_text *text)
{
	bool main = true;

	if (si_same(si_env.allocator, "off", 4))
		return;
	dl_iterate_phdr(note_python, &main);
	for (unsigned i = 0; i < python_count; i++) {
		si_modules_note(pythons[i].image.bias, SHINY_MODULE_REACHED);
		if (!attach(&pythons[i], i))
			continue;
		si_text_add(text, "; CPython's allocator, by the functions of ");
		si_text_add(text, pythons[i].path ? si_base_name(pythons[i].path) : "the program");
		si_text_add(text, " for that");
	}
}
