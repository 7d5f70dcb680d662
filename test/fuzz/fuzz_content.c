/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_content.c: sessions that are well-formed databases with hostile content. SQL changes rows,
 * cells, ids, types of cells, blobs of events, and the schema; every third one has well-packed
 * events that no program can have caused: sizes, addresses and times beyond any, thousands of
 * processes and forks. Some are unfinished: their sidecar was killed. Then each verb that reads a
 * session runs on it, in a child of its own. None may crash, print what a terminal obeys, take more
 * than 20 s of processor time or 1 GB. The seed is fixed, the time bounded; the sanitizer build
 * proves that nothing is read wild.
 *
 *   fuzz_content [SECONDS [SESSION...]]    without sessions, one that it writes down, with
 *                                          something of everything
 *
 * Prints what was worst. A finding is left in the directory that it names.
 */
#define _GNU_SOURCE
#include <inttypes.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "content.h"

enum {
	SECONDS = 8,
	LONG_SECONDS = 60,
	RUN_SECONDS = 20,
	RUN_KB = 1 << 20,
	PER_VICTIM = 6,
	TABLES = 64,
	NAME = 32
};

/* Few are of many processes, which take long; as the next number says. */
static void make_wild_session(const char *path)
{
	static const unsigned processes[] = { 2, 2, 3, 10, 10, 300, 3000 },
			      often[] = { 4, 20, 100, 1000 };
	struct shape shape = { .processes = processes[next_random() % 7],
			       .stacks = 10,
			       .events = (uint32_t)(next_random() % 3 ? 500 : 10000),
			       .wild = often[next_random() % 4],
			       .unfinished = next_random() % 3 == 0 };

	make_session(path, &shape);
}

/* ---- changing it ---- */

struct schema {
	char names[TABLES][NAME];
	size_t count;
};

static sqlite3 *database;

/* Whatever it says: much of it is refused, which is as good. */
static void sql(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void sql(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	if (vasprintf(&text, format, args) < 0)
		abort();
	va_end(args);
	sqlite3_exec(database, text, NULL, NULL, NULL);
	free(text);
}

static void pick(char out[NAME], const char *query)
{
	sqlite3_stmt *row = NULL;

	snprintf(out, NAME, "x");
	if (sqlite3_prepare_v2(database, query, -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
		snprintf(out, NAME, "%s", (const char *)sqlite3_column_text(row, 0));
	sqlite3_finalize(row);
}

static void pick_table(char out[NAME])
{
	char query[160];

	snprintf(query, sizeof(query),
		 "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%%' "
		 "AND name <> 'documentation' "
		 "ORDER BY (rowid * %" PRIu64 " + %" PRIu64 ") %% 1009 LIMIT 1",
		 next_random() % 1000 + 1, next_random() % 1009);
	pick(out, query);
}

static void pick_column(const char *table, char out[NAME])
{
	char query[160];

	snprintf(query, sizeof(query),
		 "SELECT name FROM pragma_table_info('%s') ORDER BY (cid * %" PRIu64 " + %" PRIu64
		 ") %% 101 LIMIT 1",
		 table, next_random() % 100 + 1, next_random() % 101);
	pick(out, query);
}

/* What a cell becomes, as SQL. */
static void pick_value(char *out, size_t room)
{
	static const char *const values[] = {
		"NULL",
		"''",
		"'x'",
		"'-1'",
		"0.5",
		"-1e300",
		"9e999",
		"zeroblob(10)",
		"zeroblob(70000)",
		"randomblob(33)",
		"x'00ff00'",
		"'1' || char(0) || '2'",
		("char(27) || ']0;evil' || char(7) || char(27) || '[2J' || char(10) || char(9) || "
		 "char(13) || char(0x9b) || char(0x202e) || 'x'"),
		"CAST(x'c328fe80ff1b5b6d0a' AS TEXT)",
		"replace(hex(zeroblob(20000)), '00', 'a::b<')",
		"replace(hex(zeroblob(300000)), '00', 'xy')",
		"replace(hex(zeroblob(5000)), '00', '/')",
		"'%s%n%n'",
		"'../../../../etc/passwd'",
		"'replaced'",
		"'renderer'",
		"'label'",
		"'exact'",
		"'array'",
	};

	if (next_random() % 2)
		snprintf(out, room, "%s",
			 values[next_random() % (sizeof(values) / sizeof(*values))]);
	else if (next_random() % 3)
		snprintf(out, room, "%" PRId64, (int64_t)hurtful[next_random() % HURTFUL]);
	else
		snprintf(out, room, "%" PRIu64, next_random() % 70);
}

static void change_cells(void)
{
	char table[NAME], column[NAME], value[160], which[64];

	pick_table(table);
	pick_column(table, column);
	pick_value(value, sizeof(value));
	snprintf(which, sizeof(which), "rowid %% %" PRIu64 " = 0", next_random() % 5 + 1);
	sql("UPDATE OR REPLACE %s SET \"%s\" = %s WHERE %s", table, column, value, which);
	/* those WITHOUT ROWID; half of the others */
	sql("UPDATE OR REPLACE %s SET \"%s\" = %s", table, column, value);
}

static void change_one(void)
{
	char table[NAME], column[NAME], value[160];

	pick_table(table);
	pick_column(table, column);
	pick_value(value, sizeof(value));
	sql("UPDATE OR REPLACE %s SET \"%s\" = %s WHERE rowid = (SELECT rowid FROM %s ORDER BY "
	    "rowid LIMIT 1 OFFSET %" PRIu64 ")",
	    table, column, value, table, next_random() % 10);
}

static void change_rows(void)
{
	char table[NAME], column[NAME];

	pick_table(table);
	pick_column(table, column);
	switch (next_random() % 6) {
	case 0:
		sql("DELETE FROM %s WHERE rowid %% %" PRIu64 " = 0", table, next_random() % 4 + 1);
		break;
	case 1:
		sql("DELETE FROM %s", table);
		break;
	case 2: /* the same again, many times, where nothing forbids it */
		for (int i = 0; i < 8; i++)
			sql("INSERT OR IGNORE INTO %s SELECT * FROM %s", table, table);
		break;
	case 3:
		sql("UPDATE OR IGNORE %s SET \"%s\" = \"%s\" + %" PRId64, table, column, column,
		    (int64_t)hurtful[next_random() % HURTFUL]);
		break;
	case 4:
		sql("UPDATE OR IGNORE %s SET \"%s\" = \"%s\" * %d", table, column, column,
		    next_random() & 1 ? -1 : 1000003);
		break;
	default: /* a thousand rows with ids of their own and one key */
		sql("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
		    "1000) INSERT OR IGNORE INTO %s(id) SELECT i FROM n",
		    table);
		break;
	}
}

static void change_relations(void)
{
	static const char *const ways[] = {
		"UPDATE process SET parent = id",
		"UPDATE process SET parent = 3 - id, forked_ns = 100",
		"UPDATE process SET forked_ns = start_ns + 1",
		"UPDATE stack_tail SET tail = id",
		"UPDATE stack SET tail = 1, frame0 = 1",
		"UPDATE stack_tail SET tail = (id % 3) + 1",
		"UPDATE stack SET site = -1",
		"UPDATE site SET frame = id * 1000000",
		"UPDATE frame_line SET depth = depth * 1000",
		"UPDATE thread SET creator = id",
		"UPDATE segment SET origin = id, start_address = 0, end_address = -1",
		"UPDATE segment SET process = 1",
		"UPDATE stat_short SET process = 1",
		"UPDATE stat_short SET type = 2147483647",
		"UPDATE stat_long SET type = 2147483647",
		"UPDATE stat_short SET stack = stack + 4294967296",
		"UPDATE stat_short SET allocs = 1 << 62, max_size = 1 << 62, bytes = NULL",
		"UPDATE stat_long SET vtable = 4294967296",
		"UPDATE stat_short SET remaining = -1 << 63, spread = -1",
		"UPDATE mark SET ns = -ns",
		"UPDATE bucket SET length_ns = 0",
		"UPDATE bucket SET start_ns = -1, length_ns = 1",
		"UPDATE page SET page = -1",
		"UPDATE session SET value = -1 WHERE key LIKE '%_ns'",
		"UPDATE session SET value = 9223372036854775807 WHERE key LIKE '%_ns'",
		"UPDATE session SET value = 'x' WHERE key = 'duration_ns'",
		"DELETE FROM session WHERE key = 'duration_ns'",
		"UPDATE session SET value = 0 WHERE key = 'complete'",
		"UPDATE process SET end_ns = -1",
		"UPDATE process SET end_ns = 1, start_ns = 9223372036854775807",
		"UPDATE process SET ending = 'replaced'",
		"UPDATE lifetime SET bin = 64",
		"UPDATE lifetime SET bin = -1",
		"UPDATE lifetime SET bin = 63, count = 9223372036854775807",
		"UPDATE memory SET ns = 9223372036854775807",
		"UPDATE residency SET ns = -5",
		"UPDATE browser_sample SET process = 7",
		"INSERT INTO process(id, parent) WITH RECURSIVE n(i) AS (SELECT 3 UNION ALL SELECT "
		"i + 1 FROM n WHERE i < 9000) SELECT i, i - 1 FROM n",
		"INSERT INTO process(id, parent, forked_ns) WITH RECURSIVE n(i) AS (SELECT 3 UNION "
		"ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i, i - 1, i FROM n",
		"INSERT INTO process(id, parent, forked_ns) WITH RECURSIVE n(i) AS (SELECT 3 UNION "
		"ALL SELECT i + 1 FROM n WHERE i < 20000) SELECT i, 1, 9000 FROM n",
		"INSERT INTO frame_line(frame, depth, function) WITH RECURSIVE n(i) AS (SELECT 1 "
		"UNION ALL SELECT i + 1 FROM n WHERE i < 30000) SELECT 1, i, 1 FROM n",
		"INSERT INTO stack(id, site, frame0) WITH RECURSIVE n(i) AS (SELECT 20 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 30000) SELECT i, 1, 1 FROM n",
		"INSERT INTO thread(id, process) WITH RECURSIVE n(i) AS (SELECT 20 UNION ALL "
		"SELECT i + 1 FROM n WHERE i < 30000) SELECT i, 1 FROM n",
		"INSERT INTO type SELECT id + 1000000, name, container, form, rule, confidence, "
		"source, bytes, or_derived FROM type",
		"UPDATE class SET id = 2147483647",
		"UPDATE type SET id = 2147483647 WHERE id = 1",
		"UPDATE process SET id = 2147483647 WHERE id = 1",
		"UPDATE stack SET id = -id",
		"UPDATE tag SET id = 4611686018427387904 WHERE id = 1",
		"UPDATE site SET id = 4294967295 WHERE id = 1",
		"UPDATE frame SET id = 4294967297 WHERE id = 1",
		"UPDATE module SET id = 60000",
		"UPDATE stack_tail SET id = id + 65000",
		"UPDATE type SET id = id + 65000",
		"UPDATE process SET id = id + 65000",
	};

	sql("%s", ways[next_random() % (sizeof(ways) / sizeof(*ways))]);
}

static int damage_blob(void *context, int columns, char **values, char **names)
{
	sqlite3_blob *blob = NULL;

	(void)columns, (void)names, (void)context;
	if (sqlite3_blob_open(database, "main", "events", "data", atoll(values[0]), 1, &blob) !=
	    SQLITE_OK)
		return 0;
	for (uint64_t n = next_random() % 4 + 1; n; n--) {
		uint8_t bytes[8] = { 0 };
		int size = sqlite3_blob_bytes(blob),
		    at = size > 8 ? (int)(next_random() % (uint64_t)(size - 8)) : 0;

		put_hurtful(bytes, sizeof(bytes), 0);
		if (size > 8)
			sqlite3_blob_write(blob, bytes, 1 + (int)(next_random() % 8), at);
	}
	sqlite3_blob_close(blob);
	return 0;
}

static void change_events(void)
{
	switch (next_random() % 7) {
	case 0:
		sqlite3_exec(database, "SELECT id FROM events", damage_blob, NULL, NULL);
		break;
	case 1:
		sql("UPDATE events SET data = substr(data, 1, length(data) - %" PRIu64 ")",
		    next_random() % 300);
		break;
	case 2:
		sql("UPDATE events SET data = data || randomblob(40)");
		break;
	case 3:
		sql("UPDATE events SET count = %" PRId64,
		    (int64_t)hurtful[next_random() % HURTFUL]);
		break;
	case 4:
		sql("UPDATE events SET first_ns = %" PRId64 ", last_ns = %" PRId64,
		    (int64_t)hurtful[next_random() % HURTFUL],
		    (int64_t)hurtful[next_random() % HURTFUL]);
		break;
	case 5: /* a block again and again */
		for (int i = 0; i < 5; i++)
			sql("INSERT INTO events SELECT id + (SELECT MAX(id) FROM events), "
			    "first_ns, last_ns, count, data FROM events LIMIT 40");
		break;
	default:
		sql("UPDATE events SET data = 'text'");
		break;
	}
}

static void change_schema(void)
{
	char table[NAME], view[NAME], column[NAME];

	pick_table(table);
	pick_column(table, column);
	pick(view, "SELECT name FROM sqlite_schema WHERE type = 'view' ORDER BY random() LIMIT 1");
	switch (next_random() % 9) {
	case 0:
		sql("DROP VIEW %s", view);
		sql("CREATE VIEW %s AS WITH RECURSIVE n(process) AS (SELECT 1 UNION ALL SELECT "
		    "process + 1 FROM n) SELECT process FROM n",
		    view);
		break;
	case 1:
		sql("DROP VIEW %s", view);
		break;
	case 2:
		sql("CREATE TRIGGER t AFTER INSERT ON %s BEGIN DELETE FROM session; END", table);
		break;
	case 3:
		sql("CREATE INDEX i_%s ON %s (\"%s\")", table, table, column);
		break;
	case 4:
		sql("ALTER TABLE %s ADD COLUMN extra AS (hex(zeroblob(100000)))", table);
		break;
	case 5:
		sql("ALTER TABLE %s RENAME COLUMN \"%s\" TO other", table, column);
		break;
	case 6:
		sql("DROP TABLE %s", table);
		break;
	case 7: /* past SQLite's own checks */
		sql("PRAGMA writable_schema = ON");
		sql("UPDATE sqlite_schema SET rootpage = (SELECT MAX(rootpage) FROM sqlite_schema) "
		    "WHERE name = '%s'",
		    table);
		sql("PRAGMA writable_schema = RESET");
		break;
	default:
		sql("PRAGMA writable_schema = ON");
		sql("UPDATE sqlite_schema SET sql = replace(sql, 'INTEGER', 'TEXT') WHERE name = "
		    "'%s'",
		    table);
		sql("PRAGMA writable_schema = RESET");
		break;
	}
}

static void change(const char *path)
{
	if (sqlite3_open_v2(path, &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		must(shiny_err(SHINY_ERR_OTHER, "the fuzzer cannot open its own victim"));
	sqlite3_db_config(database, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	sql("PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; PRAGMA "
	    "ignore_check_constraints = ON; BEGIN");
	for (uint64_t n = next_random() % 4 + 1; n; n--)
		switch (next_random() % 16) {
		case 0:
			change_schema();
			break;
		case 1 ... 3:
			change_events();
			break;
		case 4 ... 7:
			change_relations();
			break;
		case 8 ... 9:
			change_rows();
			break;
		case 10 ... 12:
			change_one();
			break;
		default:
			change_cells();
			break;
		}
	sql("COMMIT");
	sqlite3_close(database);
}

/* ---- running the verbs ---- */

/* Whether a terminal would obey something in it. */
static const char *harm_in(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i],
			      next = i + 1 < bytes ? (unsigned char)text[i + 1] : 0;

		if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f)
			return "a control character";
		if (c == 0xc2 && next < 0xa0)
			return "a C1 control character";
		if (c == 0xe2 && next == 0x80 && i + 2 < bytes &&
		    (unsigned char)text[i + 2] >= 0xa8 && (unsigned char)text[i + 2] <= 0xae)
			return "a character that turns lines";
	}
	return NULL;
}

struct worst {
	double seconds;
	long kb;
	char seconds_line[80], kb_line[80];
	uint64_t runs, refused;
};

/* One verb in a child; NULL or what was wrong. A session that is `whole` refuses no line. */
static const char *run_line(const char *line, char *path, bool json, bool whole,
			    struct worst *worst)
{
	static char wrong[200];
	char copy[200], *words[16];
	int count, status, out = memfd_create("out", MFD_CLOEXEC);
	struct rusage usage;
	pid_t child;

	snprintf(copy, sizeof(copy), "%s", line);
	count = words_of(copy, path, json, words);
	fflush(NULL);
	child = fork();
	if (child < 0 || out < 0)
		return "cannot start a child";
	if (!child) {
		dup2(out, STDOUT_FILENO);
		setrlimit(RLIMIT_CPU, &(struct rlimit){ RUN_SECONDS, RUN_SECONDS });
		_exit(run_words(count, words));
	}
	wait4(child, &status, 0, &usage);
	double seconds = (double)usage.ru_utime.tv_sec + (double)usage.ru_stime.tv_sec +
			 (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
	off_t bytes = lseek(out, 0, SEEK_END);
	char *text = bytes > 0 ? mmap(NULL, (size_t)bytes, PROT_READ, MAP_SHARED, out, 0) : NULL;
	/* shinyctl refuses a terminal for two, and guards it from the third (output_guard.h) */
	bool plain = strcmp(line, "export --to pprof") != 0 &&
		     strcmp(line, "export --to otlp") != 0 && strcmp(line, "export --to csv") != 0;
	const char *harm = plain && text && text != MAP_FAILED ? harm_in(text, (size_t)bytes)
							       : NULL;

	if (text && text != MAP_FAILED)
		munmap(text, (size_t)bytes);
	close(out);
	worst->runs++;
	worst->refused += WIFEXITED(status) && WEXITSTATUS(status) == SHINY_ERR_OTHER;
	if (seconds > worst->seconds) {
		worst->seconds = seconds;
		snprintf(worst->seconds_line, sizeof(worst->seconds_line), "%s%s", line,
			 json ? " --json" : "");
	}
	if (usage.ru_maxrss > worst->kb) {
		worst->kb = usage.ru_maxrss;
		snprintf(worst->kb_line, sizeof(worst->kb_line), "%s%s", line,
			 json ? " --json" : "");
	}
	if (WIFSIGNALED(status))
		snprintf(wrong, sizeof(wrong), "%s",
			 WTERMSIG(status) == SIGXCPU || WTERMSIG(status) == SIGKILL
				 ? "it takes more than 20 s"
				 : "it is ended by a signal");
	else if (WEXITSTATUS(status) != 0 && (WEXITSTATUS(status) < 1 || WEXITSTATUS(status) > 4))
		snprintf(wrong, sizeof(wrong), "exit status %d", WEXITSTATUS(status));
	else if (WEXITSTATUS(status) == 1 && strncmp(line, "check", 5) != 0)
		snprintf(wrong, sizeof(wrong), "exit status 1: a sanitizer's");
	else if (WEXITSTATUS(status) == SHINY_ERR_USAGE && whole)
		snprintf(wrong, sizeof(wrong), "exit status 2: no such question");
	else if (usage.ru_maxrss > RUN_KB)
		snprintf(wrong, sizeof(wrong), "it takes %ld MB", usage.ru_maxrss >> 10);
	else if (harm)
		snprintf(wrong, sizeof(wrong), "it prints %s", harm);
	else
		return NULL;
	return wrong;
}

int main(int argc, char **argv)
{
	char directory[] = "/tmp/fuzz_content.XXXXXX", path[80], kept[100], made[80];
	const char *lengthy = getenv("SHINY_TEST_LONG");
	int seconds = argc > 1			   ? atoi(argv[1])
		      : lengthy && *lengthy == '1' ? LONG_SECONDS
						   : SECONDS,
	    findings = 0;
	struct content seeds[16];
	size_t seed_count = 0;
	struct worst worst = { 0 };
	uint64_t victims = 0;
	time_t end = time(NULL) + seconds;

	if (!mkdtemp(directory))
		return 1;
	setenv("XDG_CACHE_HOME", directory, 1);
	snprintf(made, sizeof(made), "%s/seed.shiny", directory);
	snprintf(path, sizeof(path), "%s/x.shiny", directory);
	if (argc < 3) {
		make_session(made, &(struct shape){ .processes = 2,
						    .stacks = 10,
						    .events = EVENTS,
						    .unfinished = true });
		seeds[seed_count++] = content_read(made);
		make_session(made, &honest);
		seeds[seed_count++] = content_read(made);
	}
	for (int i = 2; i < argc && seed_count < 16; i++)
		seeds[seed_count++] = content_read(argv[i]);
	for (size_t i = 0; i < seed_count; i++)
		if (!seeds[i].data)
			must(shiny_err(SHINY_ERR_OTHER, "cannot read session %zu", i + 1));
	if (argc > 1 && getenv("FUZZ_SEED"))
		random_state = strtoull(getenv("FUZZ_SEED"), NULL, 10) * 2 + 1;

	/* each verb works on what nobody has changed */
	for (size_t i = 0; i < LINES && argc < 3; i++) {
		const char *wrong = run_line(lines[i], made, false, true, &worst);

		if (wrong) {
			printf("not ok whole/%s: %s\n", lines[i], wrong);
			findings++;
		}
	}
	for (; time(NULL) < end && findings < 20; victims++) {
		const struct content *seed = &seeds[next_random() % seed_count];
		bool wild = next_random() % 3 == 0;

		if (wild)
			make_wild_session(path);
		else if (!content_write(path, seed->data, seed->bytes))
			must(shiny_err(SHINY_ERR_OTHER, "cannot write a victim"));
		if (!wild || next_random() % 4 == 0)
			change(path);
		for (int i = 0; i < PER_VICTIM && time(NULL) < end; i++) {
			const char *line = lines[next_random() % LINES];
			bool json = strcmp(line, "info --schema") != 0 && next_random() % 3 == 0;
			const char *wrong = run_line(line, path, json, false, &worst);

			if (!wrong)
				continue;
			struct content victim = content_read(path);
			snprintf(kept, sizeof(kept), "%s/finding%d.shiny", directory, ++findings);
			content_write(kept, victim.data, victim.bytes);
			free(victim.data);
			printf("not ok content/%s%s: %s (%s)\n", line, json ? " --json" : "", wrong,
			       kept);
			break;
		}
	}
	for (size_t i = 0; i < seed_count; i++)
		free(seeds[i].data);
	for (size_t i = 0; i < 4; i++) { /* what some of the lines write */
		snprintf(kept, sizeof(kept), "%s%s", i % 2 ? made : path, i < 2 ? "" : ".out");
		unlink(kept);
	}
	rmdir(directory);
	printf("# %" PRIu64 " sessions changed, %" PRIu64 " runs, %" PRIu64
	       " refused; longest %.2f s (%s), largest %ld MB (%s)\n",
	       victims, worst.runs, worst.refused, worst.seconds, worst.seconds_line,
	       worst.kb >> 10, worst.kb_line);
	if (!findings)
		printf("ok fuzz_content\n");
	return findings != 0;
}
