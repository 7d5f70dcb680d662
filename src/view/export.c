/* SPDX-License-Identifier: Apache-2.0 */
#include "export.h"

#include <stdlib.h>

#include "../base/cleanup.h"
#include "../base/mem.h"

const struct export_form export_forms[EXPORT_FORMS] = {
	{ .name = "folded", .profile = true, .measure = true, .write = export_folded },
	{ .name = "pprof", .profile = true, .binary = true, .labels = true,
	  .write = export_pprof },
	{ .name = "otlp", .profile = true, .binary = true, .labels = true,
	  .write = export_otlp },
	{ .name = "speedscope", .profile = true, .peak = true, .write = export_speedscope },
	{ .name = "dhat", .profile = true, .peak = true, .write = export_dhat },
	{ .name = "massif", .profile = true, .peak = true, .write = export_massif },
	{ .name = "heaptrack", .profile = true, .each = true, .write = export_heaptrack },
	{ .name = "callgrind", .profile = true, .write = export_callgrind },
	{ .name = "firefox", .profile = true, .write = export_firefox },
	{ .name = "trace", .profile = true, .write = export_trace },
	{ .name = "dot", .measure = true, .tree = true, .write = export_dot },
	{ .name = "csv", .table = true, .write = export_csv },
	{ .name = "jsonl", .table = true, .write = export_jsonl },
};

struct shiny_err *export_memory(struct store *store, const struct filter *filter,
				const struct profile *profile,
				struct shiny_err *(*write)(const struct export_job *job),
				struct label_choice labels, const char *service, char **text,
				size_t *bytes)
{
	AUTO_FREE char *command = NULL, *loss = NULL;
	struct export_job job = { .store = store,
				  .sums = store,
				  .filter = filter,
				  .profile = profile,
				  .service = service,
				  .labels = labels };
	struct shiny_err *err;

	SHINY_TRY(profile_command(store, &command, &job.pid));
	SHINY_TRY(profile_loss(store, &loss));
	job.command = command;
	job.loss = loss;
	job.out = mem_stream_open(text, bytes);
	err = write(&job);
	mem_stream_close(job.out);
	if (err) {
		free(*text);
		*text = NULL;
	}
	return err;
}
