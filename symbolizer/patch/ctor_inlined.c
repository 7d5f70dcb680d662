/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ctor_inlined.c: see ctor_inlined.h.
 *
 * One walk over all DIEs; each abstract instance's name is looked up once. Without a mangled name
 * the declaration tells the class: the declarations of a unit are collected before its functions.
 * Code that the linker dropped, because another unit has the same function, has addresses outside
 * the executable parts of the file.
 */
#include "ctor_inlined.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "../../src/base/mem.h"
#include "../elf/debugfile.h"

enum { DEPTH_MAX = 512 };
#define BYTES_MAX ((uint64_t)512 << 20) /* limit of .debug_info: takes some 10 s */

struct inlined_origin {
	const char *die; /* its address in the section; NULL: unused */
	struct ctor_inlined function;
};

struct inlined_walk {
	const struct binary *file;
	ctor_inlined_fn *each;
	void *context;
	/* abstract instances, and declarations without a mangled name */
	VEC(struct inlined_origin) origins;
	struct hash_table origin_table; /* by DIE */
	VEC(char *) names;
};

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
		return dwarf_formstring(&attribute);
	return NULL;
}

/* NULL: `die` isn't known yet. */
static struct inlined_origin *find_origin(const struct inlined_walk *w, const char *die)
{
	uint32_t at = hash_table_find(&w->origin_table, hash_mix((uintptr_t)die), i,
				      w->origins.at[i].die == die);

	return at == HASH_NONE ? NULL : &w->origins.at[at];
}

static void add_origin(struct inlined_walk *w, const char *die, struct ctor_inlined function)
{
	hash_table_add(&w->origin_table, hash_mix((uintptr_t)die), (uint32_t)w->origins.count);
	*vec_push(&w->origins) = (struct inlined_origin){ die, function };
}

static struct ctor_inlined function_of(struct inlined_walk *w, Dwarf_Die *die)
{
	struct ctor_inlined none = { .mangled = linkage_name(die) };
	Dwarf_Attribute attribute;
	Dwarf_Die declaration;

	if (!none.mangled && dwarf_attr_integrate(die, DW_AT_specification, &attribute) &&
	    dwarf_formref_die(&attribute, &declaration)) {
		const struct inlined_origin *known = find_origin(w, declaration.addr);

		if (known)
			return known->function;
	}
	return none;
}

static struct ctor_inlined function_of_origin(struct inlined_walk *w, Dwarf_Die *inlined)
{
	struct ctor_inlined function = { .mangled = NULL };
	const struct inlined_origin *known;
	Dwarf_Attribute attribute;
	Dwarf_Die origin;

	if (!dwarf_attr(inlined, DW_AT_abstract_origin, &attribute) ||
	    !dwarf_formref_die(&attribute, &origin))
		return function;
	known = find_origin(w, origin.addr);
	if (known)
		return known->function;
	function = function_of(w, &origin);
	add_origin(w, origin.addr, function);
	return function;
}

static bool is_class(int tag)
{
	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

/* Collects the declarations of constructors and destructors without a mangled name in `die`.
 * `scope` is its path: "a::b", "". Takes ownership of `scope`. */
static void collect(struct inlined_walk *w, Dwarf_Die *die, char *scope, unsigned depth)
{
	const char *class = is_class(dwarf_tag(die)) ? dwarf_diename(die) : NULL, *name, *before;
	size_t bytes = class ? strcspn(class, "<") : 0;
	Dwarf_Die child;
	bool used = false;

	if (depth < DEPTH_MAX && dwarf_child(die, &child) == 0)
		do {
			int tag = dwarf_tag(&child);

			before = child.addr;
			name = dwarf_diename(&child);
			if (tag == DW_TAG_namespace || (is_class(tag) && name)) {
				collect(w, &child,
					mem_format("%s%s%s", scope, *scope ? "::" : "",
						   name ? name : "(anonymous namespace)"),
					depth + 1);
			} else if (tag == DW_TAG_subprogram && class && name &&
				   (name[0] == '~' ||
				    (!strncmp(name, class, bytes) && !name[bytes])) &&
				   !linkage_name(&child)) {
				struct ctor_inlined function = { .class = scope,
								 .destroys = name[0] == '~' };
				struct inlined_origin *known = find_origin(w, child.addr);

				if (known)
					known->function = function;
				else
					add_origin(w, child.addr, function);
				used = true;
			}
		} while (!dwarf_siblingof(&child, &child) && (const char *)child.addr > before);
	if (used)
		*vec_push(&w->names) = scope;
	else
		free(scope);
}

/* True if it has code in the file. */
static bool is_there(const struct inlined_walk *w, Dwarf_Die *die)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0)
		if (end > start && binary_flags(w->file, start) & PF_X)
			return true;
	return false;
}

static void walk_die(struct inlined_walk *w, Dwarf_Die *die, const struct ctor_inlined *into,
		     unsigned depth)
{
	struct ctor_inlined function;
	const char *before;
	Dwarf_Die child;

	if (depth == DEPTH_MAX || dwarf_child(die, &child) != 0)
		return;
	do {
		before = child.addr;
		switch (dwarf_tag(&child)) {
		case DW_TAG_inlined_subroutine:
			function = function_of_origin(w, &child);
			if ((function.class ||
			     (function.mangled && !strncmp(function.mangled, "_Z", 2))) &&
			    is_there(w, &child))
				w->each(w->context, &function, into);
			walk_die(w, &child, into, depth + 1);
			break;
		case DW_TAG_subprogram:
			if (!dwarf_haschildren(&child))
				break;
			function = function_of(w, &child);
			walk_die(w, &child, &function, depth + 1);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			walk_die(w, &child, into, depth + 1);
			break;
		default:
			break;
		}
	} while (!dwarf_siblingof(&child, &child) && (const char *)child.addr > before);
}

/* Opens the file that dwz moved shared debug information to; NULL: none. */
static Dwarf *open_alternate(const struct binary *file, int *fd)
{
	const uint8_t *id;
	AUTO_FREE char *path = NULL;
	size_t bytes;

	if (!debugfile_alternate(file, &id, &bytes))
		return NULL;
	path = debugfile_by_id(id, bytes, NULL);
	*fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	return *fd >= 0 ? dwarf_begin(*fd, DWARF_C_READ) : NULL;
}

bool ctor_inlined_each(const struct binary *file, const char *path, ctor_inlined_fn *each,
		       void *context)
{
	struct inlined_walk w = { .file = file, .each = each, .context = context };
	AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC), alt_fd = -1;
	const struct ctor_inlined nothing = { .mangled = NULL };
	Dwarf *dwarf = fd >= 0 ? dwarf_begin(fd, DWARF_C_READ) : NULL, *alternate = NULL;
	struct binary with_dwarf;
	Dwarf_CU *cu = NULL;
	bool whole = dwarf != NULL;
	Elf64_Shdr section;
	Dwarf_Die die;
	uint8_t type;

	if (whole && binary_open(&with_dwarf, path) == BINARY_OK) {
		whole = binary_section_named(&with_dwarf, ".debug_info", &section) &&
			section.sh_size <= BYTES_MAX;
		if (whole && (alternate = open_alternate(&with_dwarf, &alt_fd)))
			dwarf_setalt(dwarf, alternate);
		binary_close(&with_dwarf);
	}
	while (whole && !dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type == DW_UT_skeleton)
			whole = false;
		else if (type == DW_UT_compile || type == DW_UT_partial) {
			collect(&w, &die, mem_text(""), 0);
			walk_die(&w, &die, &nothing, 0);
		}
	}
	for (size_t i = 0; i < w.names.count; i++)
		free(w.names.at[i]);
	free(w.names.at);
	free(w.origins.at);
	hash_table_deinit(&w.origin_table);
	if (dwarf)
		dwarf_end(dwarf);
	if (alternate)
		dwarf_end(alternate);
	return whole;
}
