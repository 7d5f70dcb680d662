/* SPDX-License-Identifier: Apache-2.0 */
/* debug_calls.c: see debug_calls.h. */
#include "debug_calls.h"

#include <dwarf.h>

#include "debug_overlay.h"
#include "die.h"

enum { DEPTH_MAX = 24, LOOK_MAX = 20000 };

/* Searches below `die`, within bounds: call sites are at most some levels deep. */
static bool find_call(Dwarf_Die *die, uint64_t ret, unsigned depth, unsigned *budget,
		      Dwarf_Die *out)
{
	Dwarf_Die child;

	if (depth > DEPTH_MAX || dwarf_child(die, &child))
		return false;
	do {
		int tag = dwarf_tag(&child);

		if (!*budget)
			return false;
		--*budget;
		if (tag == DW_TAG_call_site || tag == DW_TAG_GNU_call_site) {
			unsigned name =
				tag == DW_TAG_call_site ? DW_AT_call_return_pc : DW_AT_low_pc;
			Dwarf_Attribute attribute;
			Dwarf_Addr address;

			if (dwarf_attr(&child, name, &attribute) &&
			    !dwarf_formaddr(&attribute, &address) && address == ret) {
				*out = child;
				return true;
			}
		} else if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
			   find_call(&child, ret, depth + 1, budget, out)) {
			return true;
		}
	} while (die_next(&child));
	return false;
}

bool debug_calls_at(const struct debug_scope *function, uint64_t ret, Dwarf_Die *out)
{
	Dwarf_Die die = function->code;
	unsigned budget = LOOK_MAX;

	return find_call(&die, ret, 0, &budget, out);
}

const char *debug_calls_origin(struct debug_units *units, const struct debug_scope *function,
			       uint64_t ret)
{
	Dwarf_Die call, origin;

	return debug_calls_at(function, ret, &call) &&
			       debug_overlay_die(units, &call) != DEBUG_OVERLAY_MISSING &&
			       die_reference(&call,
					     dwarf_tag(&call) == DW_TAG_call_site
						     ? DW_AT_call_origin
						     : DW_AT_abstract_origin,
					     &origin)
		       ? debug_scopes_function_name(units, &origin)
		       : NULL;
}
