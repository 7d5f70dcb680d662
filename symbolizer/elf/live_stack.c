/* SPDX-License-Identifier: Apache-2.0 */
#include "live_stack.h"

#include <elfutils/libdwfl.h>
#include <stdlib.h>

#include "../../src/base/mem.h"

struct live_stack {
	Dwfl *dwfl;
	live_stack_fn *each;
	void *context;
	bool ended; /* `each` has ended the walk */
};

/* .eh_frame is in the files themselves: no debug file is looked for. */
static int find_no_debuginfo(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			     const char *file, const char *link, GElf_Word crc, char **path)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)path;
	return -1;
}

struct live_stack *live_stack_open(pid_t pid)
{
	static const Dwfl_Callbacks callbacks = { .find_elf = dwfl_linux_proc_find_elf,
						  .find_debuginfo = find_no_debuginfo };
	struct live_stack *s = mem_zero(1, sizeof(*s));

	s->dwfl = dwfl_begin(&callbacks);
	if (s->dwfl && dwfl_linux_proc_report(s->dwfl, pid) == 0 &&
	    dwfl_report_end(s->dwfl, NULL, NULL) == 0 &&
	    dwfl_linux_proc_attach(s->dwfl, pid, true) == 0)
		return s;
	live_stack_close(s);
	return NULL;
}

void live_stack_close(struct live_stack *s)
{
	if (s && s->dwfl)
		dwfl_end(s->dwfl);
	free(s);
}

static int meet_frame(Dwfl_Frame *frame, void *context)
{
	struct live_stack *s = context;
	Dwarf_Addr pc;
	bool exact;

	if (!dwfl_frame_pc(frame, &pc, &exact))
		return DWARF_CB_ABORT;
	/* behind a call that does not return, another function may begin */
	s->ended = !s->each(s->context, exact ? pc : pc - 1);
	return s->ended ? DWARF_CB_ABORT : DWARF_CB_OK;
}

bool live_stack_walk(struct live_stack *s, pid_t tid, live_stack_fn *each, void *context)
{
	s->each = each;
	s->context = context;
	s->ended = false;
	return dwfl_getthread_frames(s->dwfl, tid, meet_frame, s) == 0 && !s->ended;
}
