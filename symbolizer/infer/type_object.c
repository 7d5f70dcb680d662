/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_object.c: see type_object.h.
 *
 * A type object is a variable that the file initializes: a reference count; the type of types,
 * whose own type is itself, or 0 where the run time sets it; a size; the name; the size of an
 * object, and of its items. All of that must be so, as the address that led here may be none of a
 * type object.
 *
 * A class of Objective-C's is a variable, too: its metaclass, the class above it, its name; a
 * version; flags. The metaclass is likewise, and has the same name. gcc's run time and GNUstep's
 * agree in that.
 */
#include "type_object.h"

#include <string.h>

enum {
	OF_TYPE = 8,
	NAME = 24,
	OBJECT_BYTES = 32,
	ITEM_BYTES = 40,
	NAME_MOST = 256,
	BYTES_MOST = 1 << 24,
	STEPS = 4,
	CLASS_NAME = 16,
	CLASS_VERSION = 24,
	CLASS_FLAGS = 32,
};

/* Returns the address in this file that the loader stores at `vaddr`; 0: none. */
static uint64_t address_at(const struct binary *file, struct reloc_index *relocs, uint64_t vaddr)
{
	struct word word = reloc_word(relocs, vaddr);

	return word.kind == WORD_ADDRESS || (word.kind == WORD_PLAIN && file->type == ET_EXEC)
		       ? word.value
		       : 0;
}

/* True if the word at `vaddr` is a plain number of at most `most`. */
static bool is_number(struct reloc_index *relocs, uint64_t vaddr, uint64_t least, uint64_t most)
{
	struct word word = reloc_word(relocs, vaddr);

	return word.kind == WORD_PLAIN && word.value >= least && word.value <= most;
}

static bool leads_to_type_of_types(const struct binary *file, struct reloc_index *relocs,
				   uint64_t vaddr)
{
	for (unsigned i = 0; i < STEPS; i++) {
		struct word word = reloc_word(relocs, vaddr + OF_TYPE);
		uint64_t next = address_at(file, relocs, vaddr + OF_TYPE);

		if (word.symbol && !strcmp(word.symbol, "PyType_Type"))
			return true;
		if (word.kind == WORD_PLAIN && !word.value)
			return true;
		if (!next || next == vaddr)
			return next != 0;
		vaddr = next;
	}
	return false;
}

/* Returns the text at `vaddr` if it can be a type's name. */
static const char *name_at(const struct binary *file, uint64_t vaddr)
{
	const char *name = vaddr ? binary_string(file, vaddr, NAME_MOST) : NULL;

	for (const char *c = name; c && *c; c++)
		if ((unsigned char)*c <= ' ' || *c == 0x7f)
			return NULL;
	return name && *name ? name : NULL;
}

const char *type_object_class(const struct binary *file, struct reloc_index *relocs, uint64_t vaddr)
{
	uint64_t meta = address_at(file, relocs, vaddr);
	const char *name = name_at(file, address_at(file, relocs, vaddr + CLASS_NAME)), *same;

	if (!meta || !name || !(binary_flags(file, vaddr) & PF_W) ||
	    !is_number(relocs, vaddr + CLASS_VERSION, 0, UINT32_MAX) ||
	    !is_number(relocs, vaddr + CLASS_FLAGS, 0, UINT32_MAX))
		return NULL;
	same = name_at(file, address_at(file, relocs, meta + CLASS_NAME));
	return same && strcmp(name, same) == 0 ? name : NULL;
}

const char *type_object_name(const struct binary *file, struct reloc_index *relocs, uint64_t vaddr)
{
	uint64_t text;

	if (!(binary_flags(file, vaddr) & PF_W) || binary_read_only(file, vaddr) ||
	    !is_number(relocs, vaddr, 1, UINT32_MAX) ||
	    !is_number(relocs, vaddr + OBJECT_BYTES, 0, BYTES_MOST) ||
	    !is_number(relocs, vaddr + ITEM_BYTES, 0, BYTES_MOST) ||
	    !leads_to_type_of_types(file, relocs, vaddr))
		return NULL;
	text = address_at(file, relocs, vaddr + NAME);
	return binary_flags(file, text) & PF_W ? NULL : name_at(file, text);
}
