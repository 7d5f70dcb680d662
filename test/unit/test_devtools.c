/* SPDX-License-Identifier: Apache-2.0 */
/* test_devtools.c: what Chromium's DevTools send, as streams: cut anywhere, cut off, hostile; and
 * into a session. */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../../src/chrome/message.h"
#include "../../src/chrome/snapshot.h"
#include "../../src/chrome/trace.h"
#include "../../src/store/store.h"
#include "check.h"

/* All that counts hold, as one line. */
static char *told(const struct counts *counts)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	for (size_t i = 0; i < counts->dumps.count; i++) {
		const struct counts_dump *dump = counts->dumps.at[i];

		fprintf(out, "%s[%u %" PRIu64 " %s]", i ? " " : "", dump->pid, dump->time,
			dump->title);
		for (size_t k = 0; k < dump->rows.count; k++) {
			const struct count_row *row = &dump->rows.at[k];

			fprintf(out, " %s%s%s:%" PRIu64 ",%" PRIu64 ",%" PRIu64,
				row->kind ? counts->names.at[row->kind - 1] : "",
				row->kind ? "=" : "", counts->names.at[row->name - 1],
				row->count, row->bytes, row->effective);
		}
	}
	fclose(out);
	return text;
}

static struct shiny_err *read_trace(const char *text, size_t length, size_t cut,
				    struct counts *counts)
{
	struct trace *trace = mem_zero(1, sizeof(*trace));
	struct shiny_err *err;

	trace_init(trace, counts, "F2");
	trace_feed(trace, text, cut);
	trace_feed(trace, text + cut, length - cut);
	err = trace_end(trace, 5);
	trace_deinit(trace);
	free(trace);
	return err;
}

static struct shiny_err *read_snapshot(const char *text, size_t length, size_t cut,
				       struct counts *counts)
{
	struct snapshot *snapshot = mem_zero(1, sizeof(*snapshot));
	struct shiny_err *err;

	snapshot_init(snapshot, counts);
	snapshot_feed(snapshot, text, cut);
	snapshot_feed(snapshot, text + cut, length - cut);
	err = snapshot_end(snapshot);
	snapshot_deinit(snapshot);
	free(snapshot);
	return err;
}

typedef struct shiny_err *(*read_fn)(const char *text, size_t length, size_t cut,
				     struct counts *counts);

/* In two pieces, cut at every byte: the same each time. Cut off at every byte: an error each
 * time. */
static void cut(const char *name, read_fn read, const char *text, const char *want)
{
	size_t length = strlen(text), wrong = 0, accepted = 0;
	char line[80];

	for (size_t at = 0; at <= length; at++) {
		struct counts counts = { 0 };
		struct shiny_err *err = read(text, length, at, &counts);
		char *got = err ? mem_text(err->message) : told(&counts);

		if (at == 0) {
			snprintf(line, sizeof(line), "%s/whole", name);
			text_is(line, got, want);
		}
		wrong += strcmp(got, want) != 0;
		shiny_err_free(err);
		free(got);
		counts_deinit(&counts);
	}
	snprintf(line, sizeof(line), "%s/cut_anywhere", name);
	check(line, !wrong, "pieces make a difference");
	for (size_t at = 0; at < length; at++) {
		struct counts counts = { 0 };
		struct shiny_err *err = read(text, at, at / 2, &counts);

		accepted += !err;
		shiny_err_free(err);
		counts_deinit(&counts);
	}
	snprintf(line, sizeof(line), "%s/cut_off", name);
	check(line, !accepted, "a document that is cut off is taken for whole");
}

static void refused(const char *name, read_fn read, const char *text, const char *why)
{
	struct counts counts = { 0 };
	struct shiny_err *err = read(text, strlen(text), 1, &counts);

	text_is(name, err ? err->message : "accepted", why);
	shiny_err_free(err);
	counts_deinit(&counts);
}

static const char trace_text[] =
	"{\"traceEvents\":[{\"args\":{\"name\":\"Bro\\u0077ser\"},\"name\":\"process_name\",\"ph\":"
	"\"M\",\"pid\":7,\"ts\":0},"
	"{\"ph\":\"v\",\"pid\":7,\"ts\":100,\"args\":{\"dumps\":{\"level_of_detail\":\"detailed\","
	"\"allocators\":{"
	"\"malloc\":{\"attrs\":{\"size\":{\"type\":\"scalar\",\"units\":\"bytes\",\"value\":\"1f\"}"
	",\"effective_size\":{\"value\":\"10\"}},\"guid\":\"5\"},"
	"\"malloc/a/b/c/d\":{\"attrs\":{\"size\":{\"value\":\"1\"}}},\"malloc/"
	"__12ab\":{\"attrs\":{\"size\":{\"value\":\"1\"}}},"
	"\"malloc/"
	"empty\":{\"guid\":\"9\"},\"blink.objects\":{\"attrs\":{\"object_count\":{\"value\":\"ff\"}"
	"}}}}}},"
	"{\"args\":{\"memory_dump_provider\":{\"name\":\"Malloc\"}},\"dur\":20,\"name\":"
	"\"MemoryDumpManager::InvokeOnMemoryDump\",\"ph\":\"X\",\"pid\":7,\"ts\":110},"
	"{\"args\":{\"dumps\":{\"allocators\":{\"v8\":{\"attrs\":{\"size\":{\"value\":\"2\"}}}}}},"
	"\"ph\":\"v\",\"pid\":8,\"ts\":101}],\"metadata\":{\"a\":[[1]]}}";
static const char trace_told[] =
	"[7 130005 Browser] malloc:0,31,16 blink.objects:255,0,0 [8 101005 ] v8:0,2,0";

static const char snapshot_text[] =
	"{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\"],\"node_"
	"types\":[[\"hidden\",\"string\",\"native\"],\"string\","
	"\"number\",\"number\"],\"edge_fields\":[\"type\"],\"edge_types\":[[\"context\"]]},\"node_"
	"count\":5},\n"
	"\"nodes\":[2,1,1,16\n,2,1,3,24,1,0,5,8,1,2,7,9,0,3,9,4],\n\"edges\":[0,1,2],\"samples\":[]"
	",\"strings\":[\"x\",\"blink::\\u004eode\",\"y\",\"z\"]}";
static const char snapshot_told[] =
	"[0 0 ] native=blink::Node:2,40,0 hidden=z:1,4,0 string=:2,17,0";

static void test_documents(void)
{
	cut("trace", read_trace, trace_text, trace_told);
	cut("trace_array", read_trace,
	    "[{\"ph\":\"v\",\"pid\":8,\"ts\":1,\"args\":{\"dumps\":{\"allocators\":{\"v8\":{"
	    "\"attrs\":{\"size\":{\"value\":\"2\"}}}}}}}]",
	    "[8 1005 ] v8:0,2,0");
	cut("snapshot", read_snapshot, snapshot_text, snapshot_told);
	refused("snapshot/kind", read_snapshot,
		"{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"self_size\"],\"node_"
		"types\":[[\"native\"]]}},\"nodes\":[1,0,1],\"strings\":[\"a\"]}",
		"the heap snapshot cannot be read: it is not what was expected");
	refused("snapshot/name", read_snapshot,
		"{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"self_size\"],\"node_"
		"types\":[[\"native\"]]}},\"nodes\":[0,7,1],\"strings\":[\"a\"]}",
		"the heap snapshot cannot be read: names are missing");
	refused("snapshot/half_a_node", read_snapshot,
		"{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"self_size\"],\"node_"
		"types\":[[\"native\"]]}},\"nodes\":[0,0],\"strings\":[\"a\"]}",
		"the heap snapshot cannot be read: it is not what was expected");
	refused("snapshot/no_meta", read_snapshot, "{\"nodes\":[0,0,1],\"strings\":[\"a\"]}",
		"the heap snapshot cannot be read: it is not what was expected");
	refused("snapshot/empty", read_snapshot, "{}",
		"the heap snapshot cannot be read: it has no objects");
	refused("snapshot/no_json", read_snapshot, "{nodes",
		"the heap snapshot cannot be read: it is no JSON");
	refused("trace/nothing", read_trace, " ", "the memory dump cannot be read: it is cut off");
}

static void test_page(void)
{
	static const char text[] =
		"{\"traceEvents\":[{\"args\":{\"data\":{\"frames\":[{\"frame\":\"F1\","
		"\"processId\":3},{\"frame\":\"F2\",\"processId\":4},"
		"{\"frame\":\"F3\",\"processId\":5}]}},\"ph\":\"I\",\"pid\":1,\"ts\":1}]}";
	struct counts counts = { 0 };
	struct trace *trace = mem_zero(1, sizeof(*trace));

	trace_init(trace, &counts, "F2");
	trace_feed(trace, text, strlen(text));
	check("trace/page", trace->frame_pid == 4, "the page's process is another");
	trace_deinit(trace);
	free(trace);
	counts_deinit(&counts);
}

static long peak_kib(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_maxrss;
}

/* A gigabyte of one string, of nesting, of digits, of blanks: an end long before, in bounded
 * memory. */
static void test_hostile(void)
{
	static const struct { const char *name, *start, *more, *why;
	} cases[] = {
		{ "string", "{\"nodes\":\"", "aaaaaaaaaaaaaaaa",
		  "it holds a text that is too long" },
		{ "key", "{\"", "\\u0061\\u0061bbbb", "it holds a text that is too long" },
		{ "nesting", "", "[[[[[[[[[[[[[[[[", "it is nested too deeply" },
		{ "objects", "", "{\"a\":{\"a\":{\"a\":", "it is nested too deeply" },
		{ "digits", "[", "1111111111111111", "it holds a text that is too long" },
		{ "blanks", "[", "                ", "it holds a text that is too long" },
	};
	enum { PIECE = 1 << 18 }; /* as much as client.c hands on at once */
	static char piece[PIECE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		size_t unit = strlen(cases[i].more), fed = 0;
		struct json_sink sink = { 0 };
		struct json_stream *s = mem_zero(1, sizeof(*s));
		struct shiny_err *err;
		long before = peak_kib();
		char name[40];

		for (size_t at = 0; at + unit <= PIECE; at += unit)
			memcpy(piece + at, cases[i].more, unit);
		json_stream_init(s, &sink);
		json_stream_feed(s, cases[i].start, strlen(cases[i].start));
		while (json_stream_feed(s, piece, PIECE / unit * unit) && fed < (size_t)1 << 30)
			fed += PIECE;
		err = json_stream_end(s, "it");
		snprintf(name, sizeof(name), "hostile/%s", cases[i].name);
		text_is(name, err && strlen(err->message) > 19 ? err->message + 19 : "accepted",
			cases[i].why);
		snprintf(name, sizeof(name), "hostile/%s/memory", cases[i].name);
		check(name, peak_kib() - before < 4 * (JSON_STREAM_TEXT >> 10), "it took too much");
		shiny_err_free(err);
		json_stream_deinit(s);
		free(s);
	}
}

/* A text of 8 MiB that comes in pieces of 1 KiB costs work in proportion to its length. */
static void test_long_text(void)
{
	enum { PIECE = 1 << 10, PIECES = 8 << 10 };
	struct json_sink sink = { 0 };
	struct json_stream *s = mem_zero(1, sizeof(*s));
	char piece[PIECE];
	struct shiny_err *err;

	memset(piece, 'a', sizeof(piece));
	json_stream_init(s, &sink);
	json_stream_feed(s, "[\"", 2);
	for (int i = 0; i < PIECES; i++)
		json_stream_feed(s, piece, sizeof(piece));
	json_stream_feed(s, "\"]", 2);
	err = json_stream_end(s, "it");
	check("long_text", !err, err ? err->message : "");
	number("long_text/values", s->told, 3); /* array, text, array's end */
	check("long_text/reads", s->reads <= 3 * ((uint64_t)PIECES * PIECE + 4),
	      "pieces are read again and again");
	shiny_err_free(err);
	json_stream_deinit(s);
	free(s);
}

/* Ten million objects of one name: their number takes no memory. */
static void test_many(void)
{
	static const char start[] =
		"{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"self_size\"],\"node_"
		"types\":[[\"native\"]]}},\"nodes\":[0,0,1";
	static char piece[6000];
	struct counts counts = { 0 };
	struct snapshot *s = mem_zero(1, sizeof(*s));
	struct shiny_err *err;
	long before = peak_kib();

	for (size_t i = 0; i < sizeof(piece); i += 6)
		memcpy(piece + i, ",0,0,8", 6);
	snapshot_init(s, &counts);
	snapshot_feed(s, start, strlen(start));
	for (int i = 0; i < 10000; i++)
		snapshot_feed(s, piece, sizeof(piece));
	snapshot_feed(s, "],\"strings\":[\"T\"]}", 18);
	err = snapshot_end(s);
	check("many/read", !err, err ? err->message : "");
	check("many/counted",
	      counts.dumps.at[0]->rows.count == 1 &&
		      counts.dumps.at[0]->rows.at[0].count == 10000001 &&
		      counts.dumps.at[0]->rows.at[0].bytes == 80000001,
	      "not ten million and one");
	check("many/memory", peak_kib() - before < 8192, "it took too much");
	shiny_err_free(err);
	snapshot_deinit(s);
	free(s);
	counts_deinit(&counts);
}

struct pieces {
	char text[64];
	bool snapshot;
};

static bool take(void *context, bool snapshot, const char *text, size_t length)
{
	struct pieces *p = context;
	size_t used = strlen(p->text);

	json_stream_copy(p->text + used, sizeof(p->text) - used, text, length);
	p->snapshot = snapshot;
	return true;
}

static void test_messages(void)
{
	struct pieces pieces = { "", false };
	struct message *m = mem_zero(1, sizeof(*m));

#define READ(text)                                                            \
	do {                                                                  \
		message_init(m, &pieces, take);                               \
		json_stream_feed(&m->json, text, strlen(text));               \
	} while (0)
	READ("{\"method\":\"HeapProfiler.addHeapSnapshotChunk\",\"params\":{\"chunk\":\"{"
	     "\\\"a\\\"\"},\"sessionId\":\"S\"}");
	text_is("message/chunk", pieces.text, "{\"a\"");
	check("message/chunk_of", pieces.snapshot && !m->id, "it is no snapshot's");
	message_deinit(m);
	*pieces.text = 0;
	READ("{\"method\":\"Other.event\",\"params\":{\"chunk\":\"no\"}}");
	text_is("message/other_chunk", pieces.text, "");
	message_deinit(m);
	READ("{\"id\":12,\"result\":{\"base64Encoded\":false,\"data\":\"[1]\",\"eof\":true}}");
	text_is("message/data", pieces.text, "[1]");
	check("message/eof", m->id == 12 && m->eof && !m->encoded && !m->failed,
	      "answer is misread");
	message_deinit(m);
	READ("{\"id\":3,\"error\":{\"code\":-1,\"message\":\"not\\nfound\"}}");
	check("message/error", m->failed && strcmp(m->error, "not\nfound") == 0, m->error);
	message_deinit(m);
	READ("{\"id\":3,\"result\":{\"dumpGuid\":\"0x1\",\"success\":false}}");
	check("message/no_success", m->failed, "taken for a success");
	message_deinit(m);
	READ("{\"id\":4,\"result\":{\"targetInfos\":[{\"targetId\":\"A\",\"type\":\"page\",\"url\":"
	     "\"u\"},{\"targetId\":\"B\",\"type\":\"other\",\"x\":{\"type\":\"page\"}}]}}");
	check("message/targets",
	      m->targets.count == 2 && !strcmp(m->targets.at[0].id, "A") &&
		      !strcmp(m->targets.at[0].url, "u") && !strcmp(m->targets.at[1].type, "other"),
	      "targets are misread");
	message_deinit(m);
	free(m);
}

static struct shiny_err *make_session(const char *path, bool finish)
{
	struct store *store;
	struct shiny_err *err = store_create(path, true, false, &store);

	if (!err)
		err = store_put_number(store, "started_boottime_ns", 100000);
	for (uint32_t i = 1; i <= 2 && !err; i++) {
		struct store_process process = { .id = i,
						 .pid = 7,
						 .name = "p",
						 .role = "",
						 .executable = "",
						 .command = "",
						 .start = i * 10000,
						 .ending = "exited",
						 .attach = "none",
						 .attach_text = "",
						 .purpose = "" };

		err = store_put_process(store, &process);
	}
	if (err)
		return err;
	if (finish)
		return store_finish(store, NULL);
	err = store_commit(store);
	store_abandon(store);
	return err;
}

static void test_store(void)
{
	struct counts counts = { 0 };
	struct store *store = NULL;
	struct query *query;
	struct shiny_err *err;
	char path[4096];
	bool row = false;

	snprintf(path, sizeof(path), "%s/devtools.shiny",
		 getenv("SHINY_TEST_TMP") ? getenv("SHINY_TEST_TMP") : "/tmp");
	shiny_err_free(read_trace(trace_text, strlen(trace_text), 0, &counts));
	shiny_err_free(read_snapshot(snapshot_text, strlen(snapshot_text), 0, &counts));
	err = make_session(path, false);
	if (!err)
		err = counts_store(&counts, path);
	check("store/unfinished", err && strstr(err->message, "is not finished"),
	      err ? err->message : "accepted");
	shiny_err_free(err);
	err = make_session(path, true);
	if (!err)
		err = counts_store(&counts, path);
	if (!err)
		err = store_open(path, &store);
	if (!err)
		err = store_query(
			store,
			"SELECT (SELECT group_concat(process || ' ' || at_ns || ' ' || name || ' ' "
			"|| bytes || ' ' || effective_bytes || ' ' || objects, "
			"'; ') FROM (SELECT * FROM v_browser_allocators ORDER BY at_ns DESC, "
			"name)) || ' | ' || (SELECT group_concat(kind || '=' || name || ' ' || "
			"objects || ' ' || bytes, '; ') FROM (SELECT * FROM v_browser_objects "
			"ORDER BY kind))",
			&query);
	if (!err)
		err = query_step(query, &row);
	check("store/written", !err && row, err ? err->message : "no row");
	if (!err && row) {
		text_is("store/rows", query_text(query, 0),
			"2 30005 blink.objects 0 0 255; 2 30005 malloc 31 16 0; 0 1005 v8 2 0 0 | "
			"hidden=z 1 4; native=blink::Node 2 40; string= 2 17");
		query_end(query);
	}
	shiny_err_free(err);
	store_close(store);
	unlink(path);
	counts_deinit(&counts);
}

int main(void)
{
	test_documents();
	test_page();
	test_messages();
	test_store();
	test_many();
	test_hostile();
	test_long_text();
	return failures != 0;
}
