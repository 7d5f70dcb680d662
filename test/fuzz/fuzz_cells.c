/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_cells.c: each column of each table of a session, finished and unfinished, gets each value
 * that a reader may not expect: no number, none that names a row, one that names a row that is not
 * there, text, a blob. Every verb that reads a session, every form of export, the page, `live` and
 * `collect` run on each such session. None may crash, hang, end with a status that is not
 * documented, or say what is wrong in more than one line. The sanitizer build proves that nothing
 * is read wild.
 *
 *   fuzz_cells            with one of the values each: each reference of a finished session, half
 *                         of those of an unfinished one, a quarter and an eighth of other columns
 *   fuzz_cells PART OF    every cell with every value; part PART (from 0) of so many.
 *                         SHINY_TEST_LONG=1: each column with every value
 *
 * A finding is left in the directory that it names.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../src/base/cleanup.h"
#include "../../src/base/mem.h"
#include "content.h"

enum { RUN_SECONDS = 60, NAME = 32, SQL = 700, FINDINGS = 20 };

static const struct shape shapes[] = {
	{ .processes = 2, .stacks = 10, .events = 300 },
	{ .processes = 2, .stacks = 10, .events = 300, .unfinished = true },
};

/* What a cell becomes. %s: the table that its column refers to, or its own. */
static const char *const values[] = {
	"(SELECT MAX(rowid) + 1 FROM %s)",
	"2147483648",
	"4611686018427387904",
	"-1",
	"0",
	"NULL",
	"'x'",
	"x'00ff00'",
	"0.5",
};
enum { VALUES = sizeof(values) / sizeof(*values) };

/* Rows for tables that the store fills when other programs speak, or when a recording ends. */
static const char *const more[] = {
	"INSERT OR IGNORE INTO wrapper VALUES (9)",
	"INSERT OR IGNORE INTO session_peak VALUES (1, 5, 500, 3000, 3000)",
	"INSERT INTO unrecorded VALUES (1, 1, 7, 'x', '/x', 'x', 'x', 0, 5)",
	("INSERT INTO access VALUES (1, 1, 1, 1, 1, 1, 65536, 16, 8, 8, 'block', 1, 10, 20, 1000, "
	 "900, 'used', 'read', 1)"),
	"INSERT INTO page_use VALUES (1, 4096, 8192, 0, 100, 2, 1)",
	"INSERT INTO browser_sample SELECT 1, 0, 1, 101, 5, 'x'",
	"INSERT INTO browser_name VALUES (1, 'malloc')",
	"INSERT INTO browser_allocator VALUES (1, 1, 10, 10, 1)",
	"INSERT INTO browser_object VALUES (1, 1, 1, 1, 10)",
};

static char directory[] = "/tmp/fuzz_cells.XXXXXX", path[80], seed_path[80], said_path[80];
static unsigned long victims, findings;

/* ---- cells ---- */

static sqlite3 *open_database(const char *file)
{
	sqlite3 *database;

	if (sqlite3_open_v2(file, &database, SQLITE_OPEN_READWRITE, NULL) != SQLITE_OK)
		must(shiny_err(SHINY_ERR_OTHER, "cannot open a session of its own"));
	sqlite3_exec(database,
		     "PRAGMA synchronous = OFF; PRAGMA journal_mode = MEMORY; "
		     "PRAGMA ignore_check_constraints = ON",
		     NULL, NULL, NULL);
	return database;
}

static const char *target_of(const char *table, const char *column)
{
	static const char *const references[][3] = {
#define REFERENCE(table, column, target) { #table, #column, #target },
#include "../../src/store/references.def"
	};

	for (size_t i = 0; i < sizeof(references) / sizeof(*references); i++)
		if (!strcmp(references[i][0], table) && !strcmp(references[i][1], column))
			return references[i][2];
	return NULL;
}

struct victim {
	char table[NAME], column[NAME], key[4 * NAME]; /* the columns that tell its rows apart */
	int row, value;
};

static bool change(const struct victim *cell)
{
	const char *target = target_of(cell->table, cell->column);
	char value[100], sql[SQL];
	sqlite3 *database = open_database(path);
	int changed;

	snprintf(value, sizeof(value), values[cell->value],
		 target && strcmp(target, "stack") != 0 ? target : "process");
	snprintf(sql, sizeof(sql),
		 "UPDATE OR REPLACE %s SET \"%s\" = %s WHERE (%s) = (SELECT %s FROM %s ORDER BY %s "
		 "LIMIT 1 OFFSET %d)",
		 cell->table, cell->column, value, cell->key, cell->key, cell->table, cell->key,
		 cell->row);
	sqlite3_exec(database, sql, NULL, NULL, NULL);
	changed = sqlite3_changes(database);
	sqlite3_close(database);
	return changed > 0; /* else the schema forbids it */
}

/* ---- readers ---- */

/* What the child is at, and what it has found. */
struct progress {
	size_t line;
	char wrong[400];
};

static void run_all(struct progress *progress, size_t step)
{
	for (; progress->line < LINES; progress->line += step) {
		char copy[200], *words[16];
		int count, status;

		snprintf(copy, sizeof(copy), "%s", lines[progress->line]);
		count = words_of(copy, path, false, words);
		status = run_words(count, words);
		if (status < 0 || status > 4 ||
		    (status == 1 && strcmp(words[0], "check") != 0))
			snprintf(progress->wrong, sizeof(progress->wrong), "exit status %d",
				 status);
		else if (strchr(run_message, '\n') || strstr(run_message, "process was ended"))
			snprintf(progress->wrong, sizeof(progress->wrong), "%s", run_message);
		if (progress->wrong[0])
			return;
	}
}

/* Lines `first`, `first` + `step`, … on the session at `path`; NULL, or what was wrong. */
static const char *run_child(struct progress *progress, size_t first, size_t step)
{
	int status;
	pid_t child;

	*progress = (struct progress){ .line = first };
	fflush(NULL);
	child = fork();
	if (child < 0)
		must(shiny_err(SHINY_ERR_OTHER, "cannot start a child"));
	if (!child) {
		setrlimit(RLIMIT_CPU, &(struct rlimit){ RUN_SECONDS, RUN_SECONDS });
		if (dup2(open("/dev/null", O_WRONLY | O_CLOEXEC), STDOUT_FILENO) < 0 ||
		    dup2(open(said_path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600),
			 STDERR_FILENO) < 0)
			_exit(3);
		run_all(progress, step);
		_exit(0);
	}
	waitpid(child, &status, 0);
	if (!progress->wrong[0] && status)
		snprintf(progress->wrong, sizeof(progress->wrong), "%s %d",
			 WIFSIGNALED(status) ? "it ends by signal" : "a sanitizer's exit status",
			 WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status));
	return progress->wrong[0] ? progress->wrong : NULL;
}

/* All lines; where a run has to be short one, in turn, and of the references of an unfinished
 * session the one that follows them. */
static const char *run_some(struct progress *progress, bool all, bool follow)
{
	return all ? run_child(progress, 0, 1)
		   : run_child(progress, follow ? LINES - 1 : victims % LINES, LINES);
}

static void try_cell(const struct content *seed, const struct victim *cell, bool unfinished,
		     struct progress *progress, bool all)
{
	char kept[120];
	const char *wrong;

	if (!content_write(path, seed->data, seed->bytes))
		must(shiny_err(SHINY_ERR_OTHER, "cannot write a victim"));
	if (!change(cell))
		return;
	wrong = run_some(progress, all, unfinished && target_of(cell->table, cell->column));
	victims++;
	if (!wrong)
		return;
	struct content victim = content_read(path);
	snprintf(kept, sizeof(kept), "%s/finding%lu.said", directory, ++findings);
	rename(said_path, kept);
	snprintf(kept, sizeof(kept), "%s/finding%lu.shiny", directory, findings);
	content_write(kept, victim.data, victim.bytes);
	free(victim.data);
	printf("not ok cells/%sfinished/%s.%s/%d/%s/%s: %s (%s)\n", unfinished ? "un" : "",
	       cell->table, cell->column, cell->row, values[cell->value], lines[progress->line],
	       wrong, kept);
	fflush(stdout);
}

/* ---- the sweep ---- */

struct sweep {
	bool rows, all_values; /* every row; every value */
	unsigned long part, of;
};

static int rows_of(sqlite3 *database, const char *table)
{
	char sql[SQL];
	sqlite3_stmt *row = NULL;
	int count = 0;

	snprintf(sql, sizeof(sql), "SELECT COUNT(*) FROM %s", table);
	if (sqlite3_prepare_v2(database, sql, -1, &row, NULL) == SQLITE_OK &&
	    sqlite3_step(row) == SQLITE_ROW)
		count = sqlite3_column_int(row, 0);
	sqlite3_finalize(row);
	return count;
}

static void sweep_column(const struct sweep *sweep, const struct content *seed,
			 struct victim *cell, int rows, bool unfinished, struct progress *progress)
{
	static unsigned long cells, columns[2], tried;
	bool all = sweep->all_values, refers = target_of(cell->table, cell->column);
	unsigned one_of = (refers ? 1 : 4) * (unfinished ? 2 : 1);
	int first, last;

	if (!all && columns[refers]++ % one_of)
		return;
	/* of a reference: none is there, or far beyond */
	first = all ? 0 : (int)(tried++ % (refers ? 2 : VALUES));
	last = all ? VALUES : first + 1;
	for (cell->row = 0; cell->row < (sweep->rows ? rows : 1); cell->row++)
		for (cell->value = first; cell->value < last; cell->value++)
			if (findings < FINDINGS && cells++ % sweep->of == sweep->part)
				try_cell(seed, cell, unfinished, progress, all);
}

static void sweep_seed(const struct sweep *sweep, bool unfinished, struct progress *progress)
{
	struct content seed = content_read(seed_path);
	sqlite3 *database = open_database(seed_path);
	sqlite3_stmt *row = NULL;
	unsigned empty = 0;

	sqlite3_prepare_v2(
		database,
		"SELECT m.name, c.name, (SELECT COALESCE(group_concat(k.name), 'rowid') FROM "
		"pragma_table_info(m.name) k WHERE k.pk > 0) FROM sqlite_schema m, "
		"pragma_table_info(m.name) c WHERE m.type = 'table' AND m.name NOT LIKE "
		"'sqlite%' AND m.name NOT IN ('documentation', 'boring')",
		-1, &row, NULL);
	while (sqlite3_step(row) == SQLITE_ROW) {
		struct victim cell = { 0 };
		int rows;

		snprintf(cell.table, NAME, "%s", sqlite3_column_text(row, 0));
		snprintf(cell.column, NAME, "%s", sqlite3_column_text(row, 1));
		snprintf(cell.key, sizeof(cell.key), "%s", sqlite3_column_text(row, 2));
		rows = rows_of(database, cell.table);
		bool passing = !strcmp(cell.table, "stack_waiting") || !strcmp(cell.table, "kept");

		empty += !rows && !unfinished && !passing;
		if (!rows && !unfinished && !passing)
			printf("# no row in %s\n", cell.table);
		sweep_column(sweep, &seed, &cell, rows, unfinished, progress);
	}
	sqlite3_finalize(row);
	sqlite3_close(database);
	free(seed.data);
	checkf("no table without a row", !empty, "%u columns of %sfinished sessions have none",
	       empty, unfinished ? "un" : "");
}

static void clear_directory(void)
{
	AUTO_FREE char *command = mem_format("rm -rf %s", directory);

	if (system(command) != 0)
		printf("# %s stays\n", directory);
}

int main(int argc, char **argv)
{
	const char *lengthy = getenv("SHINY_TEST_LONG");
	struct sweep sweep = { .rows = argc > 2,
			       .all_values = argc > 2 || (lengthy && *lengthy == '1'),
			       .part = argc > 2 ? strtoul(argv[1], NULL, 10) : 0,
			       .of = argc > 2 ? strtoul(argv[2], NULL, 10) : 1 };
	struct progress *progress = mmap(NULL, sizeof(*progress), PROT_READ | PROT_WRITE,
					 MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (progress == MAP_FAILED || !mkdtemp(directory))
		return 1;
	setenv("XDG_CACHE_HOME", directory, 1);
	snprintf(path, sizeof(path), "%s/x.shiny", directory);
	snprintf(said_path, sizeof(said_path), "%s/said", directory);
	snprintf(seed_path, sizeof(seed_path), "%s/seed.shiny", directory);
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++) {
		sqlite3 *database;

		make_session(seed_path, &shapes[i]);
		database = open_database(seed_path);
		for (size_t k = 0; k < sizeof(more) / sizeof(*more); k++)
			if (sqlite3_exec(database, more[k], NULL, NULL, NULL) != SQLITE_OK)
				printf("not ok more/%zu: %s\n", k, sqlite3_errmsg(database));
		sqlite3_close(database);
		sweep_seed(&sweep, shapes[i].unfinished, progress);
	}
	if (!findings)
		clear_directory();
	printf("# %lu sessions\n", victims);
	checkf("cells", !findings, "%lu findings in %s", findings, directory);
	return failures != 0;
}
