/* SPDX-License-Identifier: Apache-2.0 */
/*
 * site_fold.c: see site_fold.h.
 *
 * Debug information, if present, decides (debug_twins.h): it distinguishes a folded function from
 * another name of the same one. Else the readable names of C++ symbols decide: aliases are usually
 * C names, or the other form of a constructor, which has the same readable name.
 */
#include "site_fold.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/lower_bound.h"
#include "../../src/base/mem.h"
#include "../../src/base/row_order.h"
#include "../dwarf/name_text.h"
#include "../elf/symtab.h"

#define SEPARATOR " | "
enum { SYMBOLS_MAX = 4096 };

bool site_fold_may_be(const struct symbols *functions, uint64_t vaddr)
{
	size_t low = lower_bound(functions->count, i, functions->at[i].value < vaddr);

	return low + 1 < functions->count && functions->at[low + 1].value == vaddr;
}

static bool is_cxx(const char *symbol)
{
	return !strncmp(symbol, "_Z", 2);
}

/* Lists the functions by symbols alone. */
static size_t symbol_folds(const struct site_reader *reader, uint64_t vaddr,
			   struct debug_twin *out, size_t room)
{
	const struct symbols *functions = &reader->code.symbols->functions;
	const struct symbol *kept = symbols_find(functions, vaddr);
	size_t count = 0, first;

	if (!kept || !is_cxx(kept->name) || !site_fold_may_be(functions, kept->value))
		return 0;
	first = lower_bound(functions->count, i, functions->at[i].value < kept->value);
	for (size_t i = first; i < functions->count && i < first + SYMBOLS_MAX &&
			       functions->at[i].value == kept->value;
	     i++) {
		const struct symbol *symbol = &functions->at[i];
		const char *name = names_demangled(reader->names, symbol->name);
		size_t known = 0;

		if (!is_cxx(symbol->name) || symbol->size != kept->size ||
		    name == names_demangled(reader->names, kept->name))
			continue;
		while (known < count && known < room && out[known].name != name)
			known++;
		if (known < count && known < room)
			continue;
		if (count < room)
			out[count] =
				(struct debug_twin){ .name = name, .symbol = symbol->name };
		count++;
	}
	return count;
}

size_t site_folds(const struct site_reader *reader, uint64_t vaddr, struct debug_twin *out,
		  size_t room)
{
	size_t count;

	if (reader->units && debug_twins_at(reader->units, &reader->code.symbols->functions, vaddr,
					    out, room, &count))
		return count;
	return symbol_folds(reader, vaddr, out, room);
}

ORDER_BY(by_text, char *const, strcmp(*a, *b))

const char *site_fold_text(struct names *names, const char *const *texts, size_t count, int more)
{
	struct name_text text = { 0 };
	VEC(char *) parts = { 0 };
	const char *result;
	char others[32];

	/* a text may have several names itself */
	for (size_t i = 0; i < count; i++)
		for (const char *at = texts[i]; at;) {
			char *part = mem_alloc(strlen(at) + 1);

			site_fold_next(&at, part);
			*vec_push(&parts) = part;
		}
	qsort(parts.at, parts.count, sizeof(*parts.at), by_text);
	for (size_t i = 0; i < parts.count; i++) {
		if (i && !strcmp(parts.at[i], parts.at[i - 1]))
			continue;
		if (i)
			name_text_put(&text, SEPARATOR);
		name_text_put(&text, parts.at[i]);
	}
	if (more) {
		snprintf(others, sizeof(others), SEPARATOR "%d more", more);
		name_text_put(&text, more < 0 ? SEPARATOR "others" : others);
	}
	result = names_text(names, name_text_string(&text));
	name_text_free(&text);
	for (size_t i = 0; i < parts.count; i++)
		free(parts.at[i]);
	free(parts.at);
	return result;
}

bool site_fold_next(const char **text, char *out)
{
	const char *next = *text ? strstr(*text, SEPARATOR) : NULL;
	size_t bytes = !*text ? 0 : next ? (size_t)(next - *text) : strlen(*text);

	if (!*text)
		return false;
	memcpy(out, *text, bytes);
	out[bytes] = 0;
	*text = next ? next + strlen(SEPARATOR) : NULL;
	return true;
}

bool site_fold_is(const char *text)
{
	return strstr(text, SEPARATOR) != NULL;
}

bool site_fold_has(const char *text, const char *name)
{
	char *part = mem_alloc(strlen(text) + 1);
	bool has = false;

	while (!has && site_fold_next(&text, part))
		has = !strcmp(part, name);
	free(part);
	return has;
}
