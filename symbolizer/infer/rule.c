/* SPDX-License-Identifier: Apache-2.0 */
/* rule.c: see rule.h. */
#include "rule.h"

#include <string.h>

#include "../../src/base/text.h"
#include "../dwarf/debug_definitions.h"
#include "../dwarf/die_members.h"
#include "../dwarf/die_normalize.h"
#include "../flow/flow_calls.h"

void rule_describe(struct rule_work *work, const struct die_type *type, struct site_candidate *out)
{
	struct die_type copy = *type;

	out->type = type->name && *type->name ? type->name : NULL;
	out->bytes = type->bytes;
	out->trailing = type->trailing_array;
	if (type->polymorphic)
		out->flags |= SITE_POLYMORPHIC;
	memset(out->leading, 0, sizeof(out->leading));
	if (type->kind == DIE_CLASS)
		die_members_leading(work->reader->units, &copy, out->leading, SITE_LEADING);
}

/* Returns the size of a type that needs no debug information; 0: unknown. */
static uint64_t known_bytes(const char *name)
{
	static const struct {
		const char *name;
		uint64_t bytes;
	} known[] = {
		{ "char", 1 },		{ "signed char", 1 },
		{ "unsigned char", 1 }, { "bool", 1 },
		{ "char8_t", 1 },	{ "std::byte", 1 },
		{ "short", 2 },		{ "unsigned short", 2 },
		{ "char16_t", 2 },	{ "int", 4 },
		{ "unsigned int", 4 },	{ "float", 4 },
		{ "wchar_t", 4 },	{ "char32_t", 4 },
		{ "long", 8 },		{ "unsigned long", 8 },
		{ "long long", 8 },	{ "unsigned long long", 8 },
		{ "double", 8 },	{ "long double", 16 },
		{ "__int128", 16 },	{ "unsigned __int128", 16 },
		{ "character(kind=1)", 1 }, { "character(kind=4)", 4 },
	};
	size_t length = strlen(name);

	if (length && name[length - 1] == '*')
		return 8;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (!strcmp(known[i].name, name))
			return known[i].bytes;
	return 0;
}

void rule_describe_name(struct rule_work *work, const char *name, struct site_candidate *out)
{
	struct die_type type;
	Dwarf_Die die;
	const char *tidy = die_normalize(work->reader->names, name);

	out->type = tidy ? tidy : names_text(work->reader->names, name);
	if (!out->type)
		return;
	out->bytes = known_bytes(out->type);
	if (!out->bytes && work->reader->units &&
	    debug_definitions_class(work->reader->units, out->type, NULL, &die) &&
	    die_type(work->reader->units, &die, &type))
		rule_describe(work, &type, out);
}

void rule_add(struct rule_work *work, const struct site_candidate *candidate)
{
	struct site_answer *out = work->out;

	if (!candidate->type || !*candidate->type)
		return;
	for (size_t i = 0; i < out->count; i++) {
		struct site_candidate *old = &out->candidates[i];

		if (old->type != candidate->type || old->header != candidate->header ||
		    old->rule != candidate->rule)
			continue;
		old->flags |= candidate->flags & SITE_CERTAIN;
		if (!(candidate->flags & SITE_PARAMETER))
			old->flags &= ~(unsigned)SITE_PARAMETER;
		if (!(candidate->flags & SITE_LINE))
			old->flags &= ~(unsigned)SITE_LINE;
		if (!(candidate->flags & SITE_UNION))
			old->flags &= ~(unsigned)SITE_UNION;
		if (!old->bytes)
			old->bytes = candidate->bytes;
		return;
	}
	if (out->count < SITE_CANDIDATES)
		out->candidates[out->count++] = *candidate;
}

bool rule_is_entry(const char *symbol)
{
	static const char *const more[] = { "posix_memalign", "__libc_malloc", "__libc_calloc",
					    "__libc_realloc", "__libc_memalign" };

	if (!symbol)
		return false;
	if (!strncmp(symbol, "_Znwm", 5) || !strncmp(symbol, "_Znam", 5))
		return !symbol[5] || !strncmp(symbol + 5, "St", 2) ||
		       !strncmp(symbol + 5, "RKSt9nothrow_t", 14);
	return flow_is_allocation(symbol) || TEXT_IS_ONE_OF(symbol, more);
}

bool rule_slot_in(const struct flow_state *state, const struct debug_variable *variable,
		  uint64_t bytes, uint64_t *offset)
{
	for (unsigned i = 0; variable->place == DEBUG_PLACE_MEMORY && i < state->slot_count; i++) {
		const struct flow_slot *slot = &state->slots[i];
		int64_t displacement = variable->displacement;

		if (variable->reg != slot->base || slot->offset)
			continue;
		if (slot->base == FLOW_RSP) {
			if (state->rsp == FLOW_RSP_UNKNOWN)
				continue;
			displacement += state->rsp;
		}
		if (slot->displacement >= displacement &&
		    (uint64_t)slot->displacement - (uint64_t)displacement < bytes) {
			*offset = (uint64_t)slot->displacement - (uint64_t)displacement;
			return true;
		}
	}
	return false;
}

bool rule_holds(const struct flow_state *state, const struct debug_variable *variable)
{
	uint64_t offset;

	if (variable->place == DEBUG_PLACE_REGISTER)
		return variable->reg < FLOW_REGISTERS && state->registers & 1u << variable->reg &&
		       !state->offsets[variable->reg];
	if (variable->place == DEBUG_PLACE_VALUE)
		return variable->reg < FLOW_REGISTERS && state->registers & 1u << variable->reg &&
		       state->offsets[variable->reg] + variable->displacement == 0;
	return rule_slot_in(state, variable, 1, &offset);
}
