/* SPDX-License-Identifier: Apache-2.0 */
#include "recording_options.h"

#include <string.h>

struct sidecar_options recording_options(const struct options *o, const char *directory,
					 const char *out)
{
	const char *types = o->given[OPT_TYPES] ? o->text[OPT_TYPES] : env_text(ENV_SHINY_TYPES);

	return (struct sidecar_options){
		.directory = directory,
		.out = out,
		.force = o->given[OPT_FORCE],
		.with_events = !o->given[OPT_NO_EVENTS],
		.launcher_fd = -1,
		.lock_fd = -1,
		.guests_fd = -1,
		.debug_dirs = o->symbol_count ? o->symbols : NULL,
		.no_site_types = o->given[OPT_NO_TYPES] || strcmp(types, "all") != 0,
		.type_rules = o->text[OPT_TYPE_RULES],
		.memory_period = env_number(ENV_SHINY_MEMORY_PERIOD),
		.budget = (int64_t)(o->given[OPT_SAMPLE_BUDGET] ? o->number[OPT_SAMPLE_BUDGET]
							  : env_number(ENV_SHINY_BUDGET)),
		.snapshot = env_text(ENV_SHINY_SNAPSHOT),
		.keep = o->given[OPT_KEEP] ? o->number[OPT_KEEP] : env_number(ENV_SHINY_KEEP),
		.watch_accesses = strstr(env_text(ENV_SHINY_ACCESS), "watch") != NULL,
		.page_accesses = strstr(env_text(ENV_SHINY_ACCESS), "pages") != NULL,
		.merge_ns = SIDECAR_MERGE_NS,
		.spill = env_number(ENV_SHINY_SPILL),
		.keep_rings = o->given[OPT_KEEP_RING],
		.progress = !o->given[OPT_QUIET],
	};
}
