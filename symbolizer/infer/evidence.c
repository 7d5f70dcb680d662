/* SPDX-License-Identifier: Apache-2.0 */
/* evidence.c: see evidence.h. */
#include "evidence.h"

#include <stdarg.h>
#include <stdio.h>

void evidence_say(struct sym_evidence *evidence, unsigned depth, const char *format, ...)
{
	char text[1200];
	va_list arguments;

	if (!evidence)
		return;
	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	evidence->line(evidence->context, depth, text);
}
