/* SPDX-License-Identifier: Apache-2.0 */
/* session_setup.c: see session_setup.h. */
#include "session_setup.h"

#include <stdlib.h>

#include "access/accesses.h"
#include "intake/uncommitted.h"
#include "output/resolve_ahead.h"
#include "proc/errands.h"
#include "process/answers.h"
#include "process/lifecycle.h"
#include "process/starts.h"
#include "ring/guests.h"
#include "ring/spill.h"
#include "state/session_stream.h"
#include "vm/mappings_state.h"

/* Limits fetching at the end of the recording, as users wait for it; names can be fetched later. */
enum { FETCH_SECONDS = 5 };

struct session *session_create(const struct sidecar_options *options, uint64_t memory_period)
{
	struct session *session = mem_zero(1, sizeof(*session));

	session->options = options;
	session->symbols = (struct sym_options){ .debug_dirs = options->debug_dirs,
						 .type_rules = options->type_rules,
						 .cache_dir = options->type_cache,
						 .no_cache = options->no_type_cache,
						 .progress = options->progress,
						 .fetch_seconds = FETCH_SECONDS };
	session->people.memory = mappings_watch_create(memory_period);
	session->people.next_fork = UINT64_MAX;
	total_init(&session->output.total);
	total_init(&session->output.second);
	return session;
}

void session_destroy(struct session *session)
{
	struct output *output = &session->output;
	struct people *people = &session->people;
	struct rings *rings = &session->rings;

	guests_stop(rings->guests);
	answers_stop(people->answers);
	if (!errands_stop(people->errands))
		people->memory = NULL; /* leaked: an errand still uses it */
	spill_close(rings->spill, false);
	sym_destroy(resolve_ahead_take(session->ahead, NULL, 0, false));
	for (size_t i = 0; i < rings->streams.count; i++)
		stream_destroy(rings->streams.at[i]);
	for (size_t i = 0; i < people->all.count; i++)
		process_destroy(people->all.at[i]);
	for (size_t i = 0; i < rings->all.count; i++)
		ring_close(rings->all.at[i]);
	free(rings->streams.at);
	uncommitted_forget(rings);
	free(rings->uncommitted.at);
	free(people->slots_due.at);
	free(people->all.at);
	starts_forget_all(people);
	free(people->running.at);
	free(output->variables.at);
	free(output->watched_ends.at);
	accesses_destroy(session->accesses);
	free(people->ended.at);
	roster_deinit(&people->roster);
	free(rings->all.at);
	free(rings->present.at);
	mappings_watch_destroy(people->memory);
	total_deinit(&output->total);
	total_deinit(&output->second);
	ids_deinit(&output->ids);
	classes_deinit(&output->classes);
	texts_deinit(&output->tags);
	ticks_deinit(&output->ticks);
	free(output->path);
	free(session);
}
