/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_frames.c: see debug_frames.h.
 *
 * The innermost scope of an address names the first frame, and the line table gives its line. A
 * scope's call_file and call_line give the place in the scope around it.
 */
#include "debug_frames.h"

#include <string.h>

#include "debug_lines.h"
#include "debug_scopes.h"

#define SCOPES_MAX 64

size_t debug_frames(struct debug_units *units, uint64_t vaddr, struct sym_frame *out, size_t room,
		    bool *bare)
{
	struct debug_scope scopes[SCOPES_MAX];
	size_t count;

	*bare = false;
	if (!room)
		return 0;
	memset(out, 0, room * sizeof(*out));
	count = debug_scopes_at(units, vaddr, scopes, room < SCOPES_MAX ? room : SCOPES_MAX);
	for (size_t i = 0; i < count; i++) {
		out[i].function = scopes[i].name;
		out[i].inlined = scopes[i].inlined;
		*bare = scopes[i].bare && !scopes[i].inlined;
		if (i + 1 < count) {
			out[i + 1].line = scopes[i].call_line;
			out[i + 1].file = debug_scopes_call_file(units, &scopes[i]);
		}
	}
	/* last: it may close the units that `scopes` points to. Assembly, or code of a missing
	 * .dwo, has a line without a function */
	debug_lines_find(units, vaddr, &out[0].file, &out[0].line);
	return count ? count : out[0].file ? 1 : 0;
}
