/* SPDX-License-Identifier: Apache-2.0 */
/* dump.c: see dump.h. */
#include "dump.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { COLLECTIONS = 3 };

/* False ends the walk over the pages. */
typedef bool page_fn(void *context, struct connection *c, const char *session,
		     const struct message_target *target);

/* Ends a trace and reads it into c->trace. */
static bool read_trace(struct connection *c, const char *session, struct trace *trace)
{
	char stream[64], parameters[160];
	bool read = false;

	*c->stream = 0;
	if (!connection_call(c, session, "Tracing.end", "{}"))
		return false;
	while (!*c->stream && connection_patience(c) && !(session && c->detached))
		connection_receive(c, CONNECTION_POLL_MS);
	memcpy(stream, c->stream, sizeof(stream));
	if (!connection_plain_id(stream))
		return false;
	snprintf(parameters, sizeof(parameters), "{\"handle\":\"%s\",\"size\":262144}", stream);
	c->trace = trace;
	while (connection_call(c, session, "IO.read", parameters)) {
		if (c->answer.encoded) {
			connection_complain(c, "the browser's traces come in an unknown encoding",
					    NULL);
			break;
		}
		read = c->answer.eof;
		if (read)
			break;
	}
	c->trace = NULL;
	snprintf(parameters, sizeof(parameters), "{\"handle\":\"%s\"}", stream);
	return connection_call(c, session, "IO.close", parameters) && read;
}

bool dump_memory(struct connection *c, struct counts *counts)
{
	static const char config[] =
		"{\"transferMode\":\"ReturnAsStream\",\"traceConfig\":{\"includedCategories\":"
		"[\"disabled-by-default-memory-infra\"],\"excludedCategories\":[\"*\"],"
		"\"memoryDumpConfig\":{\"triggers\":[]}}}";
	struct trace *trace;
	struct shiny_err *err = NULL;
	size_t before = counts->dumps.count;
	uint64_t offset = connection_time(CLOCK_BOOTTIME) - connection_time(CLOCK_MONOTONIC);
	bool dumped;

	if (!connection_call(c, NULL, "Tracing.start", config))
		return false;
	trace = mem_zero(1, sizeof(*trace));
	trace_init(trace, counts, NULL);
	dumped = connection_call(c, NULL, "Tracing.requestMemoryDump",
		      "{\"deterministic\":true,\"levelOfDetail\":\"detailed\"}");
	if (read_trace(c, NULL, trace) && dumped)
		err = trace_end(trace, offset);
	else
		dumped = false;
	if (err)
		connection_complain(c, err->message, NULL);
	if (!dumped || err)
		counts_drop(counts, before);
	shiny_err_free(err);
	trace_deinit(trace);
	free(trace);
	return counts->dumps.count > before;
}

/* Returns the pid of a page's process, 0 unknown. A trace started on the page begins with it. */
static uint32_t pid_of(struct connection *c, struct counts *counts, const char *session,
		       const char *target)
{
	static const char config[] =
		"{\"transferMode\":\"ReturnAsStream\",\"traceConfig\":{\"includedCategories\":"
		"[\"disabled-by-default-devtools.timeline\"],\"excludedCategories\":[\"*\"]}}";
	struct trace *trace;
	uint32_t pid = 0;
	size_t before = counts->dumps.count;

	if (!connection_call(c, session, "Tracing.start", config))
		return 0;
	trace = mem_zero(1, sizeof(*trace));
	trace_init(trace, counts, target);
	if (read_trace(c, session, trace))
		pid = trace->frame_pid;
	counts_drop(counts, before);
	trace_deinit(trace);
	free(trace);
	return pid;
}

static bool take_snapshot(struct connection *c, struct counts *counts, const char *session,
			  uint32_t pid, const char *url)
{
	struct snapshot *snapshot;
	struct shiny_err *err = NULL;
	size_t before = counts->dumps.count;
	bool taken = connection_call(c, session, "HeapProfiler.enable", "{}");

	/* One collection finalizes objects, the next one frees them. Each finishes the sweeping
	 * before it, so that dead objects are known to be dead. */
	for (int i = 0; i < COLLECTIONS && taken; i++)
		taken = connection_call(c, session, "HeapProfiler.collectGarbage", "{}");
	if (!taken)
		return false;
	snapshot = mem_zero(1, sizeof(*snapshot));
	snapshot_init(snapshot, counts);
	c->snapshot = snapshot;
	taken = connection_call(c, session, "HeapProfiler.takeHeapSnapshot",
		     "{\"reportProgress\":false,\"exposeInternals\":true}");
	c->snapshot = NULL;
	snapshot->dump->time = connection_time(CLOCK_BOOTTIME);
	snapshot->dump->pid = pid;
	json_stream_copy(snapshot->dump->title, sizeof(snapshot->dump->title), url, strlen(url));
	if (taken)
		err = snapshot_end(snapshot);
	if (err)
		taken = connection_complain(c, err->message, NULL);
	if (!taken)
		counts_drop(counts, before);
	shiny_err_free(err);
	snapshot_deinit(snapshot);
	free(snapshot);
	return taken && connection_call(c, session, "HeapProfiler.disable", "{}");
}

/* Attaches to every page and calls `each` for it, until `each` returns false. */
static void each_page(struct connection *c, page_fn *each, void *context)
{
	struct message_target *targets;
	size_t count;
	bool more = true;

	if (!connection_call(c, NULL, "Target.getTargets", "{}"))
		return;
	targets = c->answer.targets.at;
	count = c->answer.targets.count;
	memset(&c->answer.targets, 0, sizeof(c->answer.targets));
	for (size_t i = 0; i < count && more; i++) {
		char session[64], parameters[160];

		if (strcmp(targets[i].type, "page") != 0 || !connection_plain_id(targets[i].id))
			continue;
		snprintf(parameters, sizeof(parameters), "{\"targetId\":\"%s\",\"flatten\":true}",
			 targets[i].id);
		if (!connection_call(c, NULL, "Target.attachToTarget", parameters))
			continue;
		memcpy(session, c->answer.session, sizeof(session));
		if (!connection_plain_id(session))
			continue;
		more = each(context, c, session, &targets[i]);
		snprintf(parameters, sizeof(parameters), "{\"sessionId\":\"%s\"}", session);
		if (!c->detached &&
		    !connection_call(c, NULL, "Target.detachFromTarget", parameters))
			break;
	}
	free(targets);
}

struct snapshots {
	struct counts *counts;
	size_t taken;
};

static bool snapshot_page(void *context, struct connection *c, const char *session,
			  const struct message_target *target)
{
	struct snapshots *snapshots = context;
	uint32_t pid = pid_of(c, snapshots->counts, session, target->id);

	snapshots->taken += take_snapshot(c, snapshots->counts, session, pid, target->url);
	return true;
}

size_t dump_pages(struct connection *c, struct counts *counts)
{
	struct snapshots snapshots = { .counts = counts };

	each_page(c, snapshot_page, &snapshots);
	return snapshots.taken;
}

static bool is_ready(void *context, struct connection *c, const char *session,
		     const struct message_target *target)
{
	static const char ask[] = "{\"expression\":\"document.readyState + (location.href == "
				  "'about:blank' ? ' blank' : '')\",\"returnByValue\":true}";
	bool *ready = context;

	*ready = connection_call(c, session, "Runtime.evaluate", ask) &&
		 strcmp(c->answer.text, "complete") == 0;
	return !*ready;
}

bool dump_page_ready(struct connection *c)
{
	bool ready = false;

	each_page(c, is_ready, &ready);
	return ready;
}
