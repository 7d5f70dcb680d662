/* SPDX-License-Identifier: Apache-2.0 */
#include "late.h"

bool si_late;
struct shiny_attaching si_late_said;

enum { VARIABLES = 64 };

bool si_late_take(const struct shiny_attaching *said)
{
	if (said->magic != SHINY_ATTACHING_MAGIC || said->settings > sizeof(said->setting) ||
	    said->stacks > SHINY_ATTACHING_STACKS)
		return false;
	si_late_said = *said;
	si_late_said.setting[sizeof(said->setting) - 1] = 0;
	si_late = true;
	return true;
}

bool si_late_stack(uintptr_t *low, uintptr_t *high)
{
	uintptr_t tls;

	__asm__("mov %%fs:0, %0" : "=r"(tls));
	for (uint32_t i = 0; i < si_late_said.stacks; i++)
		if (si_late_said.stack[i].tls == tls) {
			*low = si_late_said.stack[i].low;
			*high = si_late_said.stack[i].high;
			return true;
		}
	return false;
}

char **si_late_environment(void)
{
	static char *all[VARIABLES + 1];
	unsigned n = 0;

	for (uint32_t at = 0; at < si_late_said.settings && n < VARIABLES; at++)
		if (at == 0 || !si_late_said.setting[at - 1])
			all[n++] = si_late_said.setting + at;
	return all;
}
