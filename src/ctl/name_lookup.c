/* SPDX-License-Identifier: Apache-2.0 */
#include "name_lookup.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/mem.h"

enum { LISTED = 6, ID_MOST = 64 };

struct shiny_err *lookup_ambiguous(const char *verb, const char *name, const char *what,
				   char *const *found, size_t count)
{
	struct shiny_err *err =
		shiny_err(SHINY_ERR_USAGE, "%s '%s': %zu %s", verb, name, count, what);
	char *list = NULL;
	size_t size;
	FILE *text = mem_stream_open(&list, &size);

	for (size_t i = 0; i < count && i < LISTED; i++)
		fprintf(text, "%s%s", i ? "; " : "", found[i]);
	if (count > LISTED)
		fputs("; …", text);
	mem_stream_close(text);
	err = shiny_err_advise(err, "say which: %s", list);
	free(list);
	return err;
}

struct shiny_err *lookup_module(struct sym *sym, const char *path, const char *build_id,
				struct sym_module **out)
{
	uint8_t id[ID_MOST];
	size_t bytes = strlen(build_id) / 2;
	unsigned value;

	if (bytes > sizeof(id))
		bytes = sizeof(id);
	for (size_t i = 0; i < bytes; i++) {
		if (sscanf(build_id + 2 * i, "%2x", &value) != 1)
			bytes = 0;
		else
			id[i] = (uint8_t)value;
	}
	return sym_module_open(sym, path, path, bytes ? id : NULL, bytes, out);
}
