/* SPDX-License-Identifier: Apache-2.0 */
#include "process_names.h"

#include <stdlib.h>

#include "../../base/mem.h"
#include "../../base/text.h"

struct shiny_err *process_names_load(struct store *store, struct process_names *out)
{
	SHINY_CLEANUP(process_names_deinit) struct process_names names = { 0 };
	AUTO_QUERY struct query *q = NULL;
	struct shiny_err *err = store_query(
		store, "SELECT id, pid, CASE WHEN role > '' THEN role ELSE name END FROM process",
		&q);

	names.count = store_ids(store, "process");
	names.of = mem_zero(names.count, sizeof(*names.of));
	QUERY_EACH (q, err) {
		uint32_t id = query_id(q, 0, names.count);

		if (id && !names.of[id].name)
			names.of[id] = (struct process_name){ mem_text(text_base(query_text(q, 2))),
							      (uint32_t)query_number(q, 1) };
	}
	if (err)
		return err;
	*out = shiny_steal(names);
	return NULL;
}

char *process_names_take(struct process_names *names, uint32_t process)
{
	char *name = process < names->count ? names->of[process].name : NULL;

	if (!name)
		return mem_text("");
	names->of[process].name = NULL;
	return name;
}

void process_names_deinit(struct process_names *names)
{
	rows_free(names->of, names->count, name);
	*names = (struct process_names){ 0 };
}
