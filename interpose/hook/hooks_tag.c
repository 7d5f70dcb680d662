/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hooks_tag.c: the functions that shiny.h finds when the library is there.
 *
 * Runs:      inside, called by a program that was built with shiny.h.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 */
#include "hooks.h"

#include <errno.h>

#include "../record/tag.h"

void si_hook_tag_push(const char *name)
{
	int saved = errno;

	si_tag_push(SI_FRAME(), name);
	errno = saved;
}

void si_hook_tag_pop(void)
{
	int saved = errno;

	si_tag_pop(SI_FRAME());
	errno = saved;
}

void si_hook_mark(const char *name)
{
	int saved = errno;

	si_event_mark(SI_FRAME(), name);
	errno = saved;
}
