/* SPDX-License-Identifier: Apache-2.0 */
#include "dwarf_unit.h"

void dwarf_definitions_free(struct definitions *definitions)
{
	(void)definitions;
}

void die_memo_free(struct die_memo *memo)
{
	(void)memo;
}
