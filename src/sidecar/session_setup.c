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
	session->memory = mappings_watch_create(memory_period);
	session->next_fork = UINT64_MAX;
	total_init(&session->output.total);
	return session;
}

void session_destroy(struct session *session)
{
	struct rings *rings = &session->rings;

	guests_stop(rings->guests);
	answers_stop(session->answers);
	if (!errands_stop(session->errands))
		session->memory = NULL; /* leaked: an errand still uses it */
	spill_close(rings->spill, false);
	sym_destroy(resolve_ahead_take(session->ahead, NULL, 0, false));
	for (size_t i = 0; i < rings->streams.count; i++)
		stream_destroy(rings->streams.at[i]);
	for (size_t i = 0; i < session->processes.count; i++)
		process_destroy(session->processes.at[i]);
	for (size_t i = 0; i < rings->all.count; i++)
		ring_close(rings->all.at[i]);
	free(rings->streams.at);
	uncommitted_forget(rings);
	free(rings->uncommitted.at);
	free(session->slots_due.at);
	free(session->processes.at);
	starts_forget_all(session);
	free(session->running.at);
	free(session->output.variables.at);
	free(session->output.watched_ends.at);
	accesses_destroy(session);
	free(session->ended.at);
	roster_deinit(&session->roster);
	free(rings->all.at);
	free(rings->present.at);
	mappings_watch_destroy(session->memory);
	total_deinit(&session->output.total);
	ids_deinit(&session->output.ids);
	classes_deinit(&session->output.classes);
	texts_deinit(&session->output.tags);
	ticks_deinit(&session->output.ticks);
	free(session->output.path);
	free(session);
}
