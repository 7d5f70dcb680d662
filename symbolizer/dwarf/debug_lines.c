/* SPDX-License-Identifier: Apache-2.0 */
/* debug_lines.c: see debug_lines.h. */
#include "debug_lines.h"

#include "debug_unit.h"

bool debug_lines_find(struct debug_units *units, uint64_t vaddr, const char **file, uint32_t *line)
{
	struct debug_unit *unit;
	size_t at = SIZE_MAX;

	*file = NULL;
	*line = 0;
	if (!debug_units_ready(units))
		return false;
	while ((unit = debug_units_covering(units, vaddr, &at))) {
		Dwarf_Line *found = dwarf_getsrc_die(&unit->skeleton, vaddr);
		int number = 0;

		if (!found)
			continue;
		if (!dwarf_lineno(found, &number) && number > 0)
			*line = (uint32_t)number;
		*file = names_text(debug_units_names(units), dwarf_linesrc(found, NULL, NULL));
		return true;
	}
	return false;
}

const char *debug_lines_file(struct debug_units *units, Dwarf_Die *die, uint32_t number)
{
	struct debug_unit *unit = debug_units_of(units, die);
	Dwarf_Files *files;
	Dwarf_Half version = 0;
	size_t count;

	if (!unit ||
	    (dwarf_getsrcfiles(&unit->die, &files, &count) &&
	     dwarf_getsrcfiles(&unit->skeleton, &files, &count)) ||
	    number >= count)
		return NULL;
	/* DWARF 5 counts from 0; libdw's dwarf_decl_file() reads 0 as none */
	dwarf_cu_info(unit->skeleton.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL);
	return number || version >= 5 ? names_text(debug_units_names(units),
						   dwarf_filesrc(files, number, NULL, NULL))
				      : NULL;
}
