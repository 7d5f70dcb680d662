/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vtable.c: see vtable.h.
 *
 * An object's first word is its vptr, the *address point* of a vtable (Itanium C++ ABI 2.5.2):
 *
 *   address point - 16   offset to top: 0 in the primary vtable, negative in those of further
 *                        bases; never relocated
 *   address point - 8    type-info: &_ZTI…, or 0 with -fno-rtti
 *   address point        first virtual function, if there is one
 *
 * GNAT's dispatch tables of tagged types have the same layout, with GNAT's own data for the
 * type-info, which names the type. The class of other vtables has three sources, in this order:
 *   symbol  _ZTV… covers the address. Any other object symbol there means that the word isn't a
 *           vptr: C programs store pointers to tables of functions in first words as well (2,345
 *           such words in one run of node, all of them told apart by this). _ZTC… is the vtable of
 *           a base during the construction of a class with virtual bases.
 *   RTTI    the type-info object holds the name of the class. Works in stripped files: C++
 *           libraries keep their RTTI. A construction vtable can't be told from the base's own
 *           here: the name is then the base's.
 *   label   neither: offset to top is 0 or a small negative multiple of 8, the type-info word is 0,
 *           the first slot is code. The answer is "file!vtable+0x…", stable for one build of the
 *           file. Debian's Chromium has nothing else. A C table of functions that happens to follow
 *           two zero words in relocated read-only data gets a label too; it names nothing wrongly.
 *           gcc leaves the destructor slots of an abstract class empty: its vtable gets no label,
 *           and objects have it only while they are built.
 *
 * Words are read as the loader will leave them (reloc.h): on disk most of them are zero.
 */
#include "vtable.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "class_size.h"
#include "../../src/base/lower_bound.h"
#include "../elf/demangle.h"
#include "site_fold.h"

/* Least plausible offset to top: classes of a megabyte with a base at their end don't occur. */
#define OFFSET_TO_TOP_MIN (-((int64_t)1 << 20))
#define TYPE_NAME_MAX 4096
enum { VTABLES_FOLDED = 8 }; /* most names of one folded vtable */

static bool starts_with(const char *text, const char *prefix)
{
	return text && !strncmp(text, prefix, strlen(prefix));
}

/* Returns the class in a name such as "vtable for X". */
static const char *special_name(struct names *names, const char *mangled)
{
	static const char *const prefixes[] = { "vtable for ", "typeinfo for ",
						"construction vtable for " };
	const char *readable = names_demangled(names, mangled);

	for (size_t i = 0; readable && i < sizeof(prefixes) / sizeof(*prefixes); i++)
		if (starts_with(readable, prefixes[i]))
			return names_text(names, readable + strlen(prefixes[i]));
	return readable;
}

/* True if the word is the address of code. */
static bool is_code(const struct binary *file, const struct word *word)
{
	switch (word->kind) {
	case WORD_ADDRESS: return binary_flags(file, word->value) & PF_X;
	case WORD_IMPORT: return true; /* __cxa_pure_virtual, or an inherited function of another
	                                * library */
	case WORD_PLAIN: return file->type == ET_EXEC && (binary_flags(file, word->value) & PF_X);
	default: return false;
	}
}

/* Reads the offset to top of the vtable at `vaddr`. False: the word is no such offset. */
static bool read_offset(const struct vtable_reader *reader, uint64_t vaddr, int64_t *out)
{
	struct word word = reloc_word(reader->relocs, vaddr - 16);
	int64_t offset = (int64_t)word.value;

	if (word.kind != WORD_PLAIN || offset > 0 || offset < OFFSET_TO_TOP_MIN || offset % 8)
		return false;
	*out = offset;
	return true;
}

/* Gets the address in a word. In an ET_EXEC file any word may be one. False: it is none. */
static bool word_address(const struct binary *file, const struct word *word, uint64_t *out)
{
	if (word->kind != WORD_ADDRESS &&
	    !(word->kind == WORD_PLAIN && file->type == ET_EXEC && word->value))
		return false;
	*out = word->value;
	return true;
}

/*
 * True if the object at `info` looks like a type_info: its own vptr leads to one of the ABI's
 * type-info classes. That is an import in most files, or a copy in .bss of an executable (found by
 * its symbol). If the runtime was linked in, it is local data: then its own type-info is in
 * __cxxabiv1, or, without symbols, the words around it must at least be those of a vtable.
 */
static bool is_type_info(const struct vtable_reader *reader, uint64_t info)
{
	struct word vptr = reloc_word(reader->relocs, info);
	const struct symbol *symbol;
	uint64_t vtable;
	int64_t offset;

	if (vptr.symbol)
		return starts_with(vptr.symbol, "_ZTVN10__cxxabiv1");
	if (!word_address(reader->file, &vptr, &vtable) || vtable % 8)
		return false;
	symbol = symbols_find(&reader->symbols->objects, vtable);
	if (symbol)
		return starts_with(symbol->name, "_ZTVN10__cxxabiv1");

	struct word first = reloc_word(reader->relocs, vtable);

	return read_offset(reader, vtable, &offset) && !offset && is_code(reader->file, &first);
}

/* Returns the name in the type-info object at `info`, demangled by `read`; NULL: it is no such
 * object. */
static const char *info_name(const struct vtable_reader *reader, uint64_t info,
			     char *(*read)(const char *))
{
	const char *name, *result;
	struct word word;
	uint64_t text;
	char *readable;

	if (info % 8 || !is_type_info(reader, info))
		return NULL;
	word = reloc_word(reader->relocs, info + 8);
	name = word_address(reader->file, &word, &text)
		       ? binary_string(reader->file, text, TYPE_NAME_MAX)
		       : NULL;
	readable = name ? read(name) : NULL;
	result = names_text(reader->names, readable);
	free(readable);
	return result;
}

const char *vtable_type_info(const struct vtable_reader *reader, uint64_t vaddr)
{
	const struct symbol *symbol = symbols_find(&reader->symbols->objects, vaddr);

	/* by its symbol: an executable's copy of a library's type_info is created at run time */
	if (symbol)
		return symbol->value == vaddr && starts_with(symbol->name, "_ZTI")
			       ? special_name(reader->names, symbol->name)
			       : NULL;
	return info_name(reader, vaddr, demangle_type);
}

const char *vtable_type_import(struct names *names, const char *symbol)
{
	return starts_with(symbol, "_ZTI") ? special_name(names, symbol) : NULL;
}

/* Returns the class that the type-info of `vaddr`'s vtable names, without using vtable symbols;
 * NULL: none. */
static const char *vtable_rtti_name(const struct vtable_reader *reader, uint64_t vaddr)
{
	struct word word = reloc_word(reader->relocs, vaddr - 8);
	uint64_t info;

	if (starts_with(word.symbol, "_ZTI"))
		return special_name(reader->names, word.symbol);
	return word_address(reader->file, &word, &info) ? info_name(reader, info, demangle_class)
							: NULL;
}

/* Returns the external or expanded Ada name that the word at `vaddr` points at: "SHAPES.SQUARE";
 * NULL: it points at none. */
static const char *ada_string(const struct vtable_reader *reader, uint64_t vaddr)
{
	struct word word = reloc_word(reader->relocs, vaddr);
	uint64_t text;
	const char *name = word_address(reader->file, &word, &text)
				   ? binary_string(reader->file, text, TYPE_NAME_MAX)
				   : NULL;

	return name && *name >= 'A' && *name <= 'Z' &&
			       !name[strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")]
		       ? name
		       : NULL;
}

/*
 * Returns the tagged type of Ada's whose dispatch table holds `vaddr`; NULL: none. GNAT lays the
 * table out like a vtable, with its type-specific data in place of the type-info:
 *
 *   +0 depth, access level   16 name of the type   24 external name, usually the same
 */
static const char *ada_type(const struct vtable_reader *reader, uint64_t vaddr)
{
	enum { DEPTH_MAX = 256, LEVEL_MAX = 256, EXPANDED_NAME = 16, EXTERNAL_NAME = 24 };
	struct word word = reloc_word(reader->relocs, vaddr - 8), depth;
	char text[TYPE_NAME_MAX + 1];
	int64_t offset;
	uint64_t data;
	const char *name;
	size_t length;

	if (!read_offset(reader, vaddr, &offset) || offset ||
	    !word_address(reader->file, &word, &data) || data % 8)
		return NULL;
	depth = reloc_word(reader->relocs, data);
	if (depth.kind != WORD_PLAIN || (uint32_t)depth.value > DEPTH_MAX ||
	    depth.value >> 32 > LEVEL_MAX || !ada_string(reader, data + EXTERNAL_NAME))
		return NULL;
	name = ada_string(reader, data + EXPANDED_NAME);
	if (!name)
		return NULL;
	for (length = 0; name[length] && length < TYPE_NAME_MAX; length++)
		text[length] = (char)tolower((unsigned char)name[length]);
	text[length] = 0;
	return names_text(reader->names, text);
}

/* Returns the class that a vtable's symbol names. Without RTTI a linker may have folded the vtables
 * of several classes: then it returns all names. */
static const char *class_name(const struct vtable_reader *reader, const struct symbol *symbol)
{
	const struct symbols *objects = &reader->symbols->objects;
	const char *types[VTABLES_FOLDED];
	size_t low = lower_bound(objects->count, i, objects->at[i].value < symbol->value),
	       count = 0;

	for (; low < objects->count && objects->at[low].value == symbol->value; low++)
		if (count < VTABLES_FOLDED && !strncmp(objects->at[low].name, symbol->name, 4))
			types[count++] = special_name(reader->names, objects->at[low].name);
	return count > 1 ? site_fold_text(reader->names, types, count, 0)
			 : special_name(reader->names, symbol->name);
}

static void read_symbol(const struct vtable_reader *reader, const struct symbol *symbol,
			struct sym_vtable *out)
{
	uint64_t vaddr = out->address_point, into = vaddr - symbol->value;
	bool building = starts_with(symbol->name, "_ZTC");

	if (!building && !starts_with(symbol->name, "_ZTV"))
		return;
	/*
	 * In .bss it is a copy of a library's vtable, created at run time: the file has no words to
	 * read, and only the usual address point can be told.
	 */
	if (!read_offset(reader, vaddr, &out->offset_to_top)) {
		if (into != 16 || reloc_word(reader->relocs, vaddr - 16).kind == WORD_PLAIN)
			return;
		out->offset_to_top = 0;
	}
	/* the word before a further address point is its type-info or 0: a virtual function there
	 * means that `vaddr` is a slot */
	if (into != 16) {
		struct word info = reloc_word(reader->relocs, vaddr - 8);

		if (into < 16 ||
		    (is_code(reader->file, &info) && !starts_with(info.symbol, "_ZTI")))
			return;
		if (info.kind == WORD_PLAIN && reader->file->type != ET_EXEC && info.value)
			return;
	}
	out->source = building ? SYM_VTABLE_BUILDING : SYM_VTABLE_SYMBOL;
	out->type = class_name(reader, symbol);
	if (!building)
		out->class_bytes = class_size(reader->file, reader->relocs, reader->symbols, vaddr);
}

void vtable_read(const struct vtable_reader *reader, uint64_t vaddr, struct sym_vtable *out)
{
	const struct binary *file = reader->file;
	const struct symbol *symbol;
	int64_t offset;

	*out = (struct sym_vtable){ .source = SYM_VTABLE_NONE, .address_point = vaddr };
	if (vaddr % 8 || vaddr < 16 || !binary_flags(file, vaddr) ||
	    (binary_flags(file, vaddr) & PF_X))
		return;
	symbol = symbols_find(&reader->symbols->objects, vaddr);
	out->type = !symbol || !starts_with(symbol->name, "_ZT") ? ada_type(reader, vaddr) : NULL;
	if (out->type) {
		out->source = SYM_VTABLE_RTTI;
		return;
	}
	if (symbol) {
		read_symbol(reader, symbol, out);
		return;
	}
	/* a class without virtual functions but with virtual bases may have its address point at
	 * the very end of its symbol */
	if (!binary_read_only(file, vaddr) || !read_offset(reader, vaddr, &offset))
		return;

	const char *name = vtable_rtti_name(reader, vaddr);

	if (name) {
		out->source = SYM_VTABLE_RTTI;
		out->type = name;
		out->offset_to_top = offset;
		out->class_bytes = class_size(file, reader->relocs, reader->symbols, vaddr);
		return;
	}

	struct word info = reloc_word(reader->relocs, vaddr - 8),
		    first = reloc_word(reader->relocs, vaddr);
	char label[512];

	if (info.kind != WORD_PLAIN || info.value || !is_code(file, &first))
		return;
	snprintf(label, sizeof(label), "%s!vtable+0x%llx", reader->label,
		 (unsigned long long)vaddr);
	out->source = SYM_VTABLE_LABEL;
	out->type = names_text(reader->names, label);
	out->offset_to_top = offset;
}
