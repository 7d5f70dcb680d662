/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store_files.c: a recording that was killed can be read up to its last commit, by any of its
 * names, and reading leaves no trace in the directory; what is no session is refused with a reason.
 */
#include <signal.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "store_fixture.h"
#include "store_session.h"

/* By another name a session has its log as well, or that is not beside it is said. */
static void test_links(const char *when)
{
	char link_path[80], name[100];
	struct store *store = NULL;
	struct shiny_err *err;

	snprintf(link_path, sizeof(link_path), "%s/link", directory);
	if (symlink(strrchr(path, '/') + 1, link_path) != 0)
		exit(1);
	snprintf(name, sizeof(name), "%s, through a symbolic link", when);
	must(store_open(link_path, &store));
	expect_events(store, name, 0, 0, UINT64_MAX, 0, 300000, 0, 299999);
	store_close(store);
	unlink(link_path);
	if (link(path, link_path) != 0)
		exit(1);
	snprintf(name, sizeof(name), "%s, a hard link says what it lacks", when);
	store = NULL;
	err = store_open(link_path, &store);
	check(name, err && strstr(err->message, "hard link"), err ? err->message : "it is read");
	shiny_err_free(err);
	store_close(store);
	unlink(link_path);
}

/* A writer killed in the middle: the file holds what was committed, whether or not its log is still
 * beside it. */
static void test_killed(void)
{
	int ready[2];
	char byte;

	if (pipe(ready) != 0)
		exit(1);
	pid_t child = fork();
	if (child == 0) {
		struct store *store;

		must(store_create(path, false, true, &store));
		put_recorded(store);
		put_events(store, 300000);
		must(store_commit(store));
		must(store_put_text(store, "after", "the commit"));
		if (write(ready[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ready[1]);
	check("the writer got there", read(ready[0], &byte, 1) == 1, "it died");
	close(ready[0]);

	struct store *store;
	must(store_open(path, &store));
	check("a live recording can be read", !store_complete(store), "it says complete");
	expect_events(store, "and has what was committed", 0, 0, UINT64_MAX, 0, 300000, 0, 299999);
	store_close(store);
	test_links("live");
	struct shiny_err *err = store_create(path, true, true, &store);
	check("a live recording is not replaced", err && strstr(err->message, "being recorded"),
	      "it is");
	shiny_err_free(err);

	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	test_links("killed");
	int files = files_in_directory();
	check("the kill left companions", files > 1, "no log: this test proves nothing");
	chmod(directory, 0500);
	must(store_open(path, &store));
	check("a killed recording is not complete", !store_complete(store), "it says so");
	expect(store, "what was committed is there", "SELECT count(*) FROM process", "2");
	expect(store, "what was not is not", "SELECT count(*) FROM session WHERE key = 'after'",
	       "0");
	expect(store, "rows that are put together are there, and stacks, packed",
	       "SELECT (SELECT count(*) FROM frame) || ' ' || (sum(length(data)) / 28) || ' ' || "
	       "group_concat(first) FROM stack_waiting",
	       "29 34 1,20,40");
	expect(store, "a stack's frames and its tail",
	       "SELECT hex(substr(data, 1, 12)) || ' ' || hex(substr(data, 7 * 28 + 1, 4)) || ' ' "
	       "|| (substr(data, 7 * 28 + 25, 4) <> x'00000000') FROM stack_waiting WHERE first = "
	       "1",
	       "010000000400000000000000 01000000 1");
	expect_events(store, "so are its events", 0, 0, UINT64_MAX, 0, 300000, 0, 299999);
	store_close(store);
	chmod(directory, 0700);
	check("reading it changes nothing", files_in_directory() == files, "files came or went");
	must(store_open(path, &store));
	expect(store, "so it can be read again", "SELECT count(*) FROM process", "2");
	store_close(store);

	/* --force, over the left-behind file and its log */
	must(store_create(path, true, true, &store));
	must(store_finish(store, NULL));
	must(store_open(path, &store));
	expect(store, "--force replaces all of it", "SELECT count(*) FROM process", "0");
	store_close(store);
	check("and its log", files_in_directory() == 1, "companions remain");
	unlink(path);
}

static void refused(const char *name, const char *want)
{
	struct store *store = NULL;
	struct shiny_err *err = store_open(path, &store);
	char why[600];

	snprintf(why, sizeof(why), "wanted ...%s..., got %s", want,
		 err ? err->message : "a session");
	check(name, err && strstr(err->message, want) && strstr(err->message, path), why);
	if (err)
		printf("# %s | %s\n", err->message, err->advice ? err->advice : "");
	shiny_err_free(err);
	store_close(store);
}

static void write_file(const char *text, size_t bytes)
{
	FILE *file = fopen(path, "w");

	if (!file || fwrite(text, 1, bytes, file) != bytes || fclose(file) != 0)
		exit(1);
}

/* Makes or changes the file at `path` as another program would. */
static void execute(const char *statement)
{
	sqlite3 *db = NULL;

	if (sqlite3_open(path, &db) != SQLITE_OK ||
	    sqlite3_exec(db, statement, NULL, NULL, NULL) != SQLITE_OK)
		printf("# failed: %s: %s\n", statement, sqlite3_errmsg(db));
	sqlite3_close(db);
}

static void test_refusals(void)
{
	struct store *store;
	struct shiny_err *err;
	struct stat st;

	refused("missing", "No such file");
	write_file("", 0);
	refused("empty", "empty");
	write_file("hello, this is a text file that is no session\n", 46);
	refused("text", "not a session file");
	err = store_create(path, false, true, &store);
	check("an existing file is not replaced",
	      err && strstr(err->message, "exists already") && stat(path, &st) == 0 &&
		      st.st_size == 46,
	      "it was");
	shiny_err_free(err);
	chmod(path, 0);
	if (geteuid() != 0)
		refused("unreadable", "Permission denied");
	unlink(path);
	execute("CREATE TABLE t(a)");
	refused("another database", "not a session");
	unlink(path);
	mkdir(path, 0700);
	refused("directory", "directory");
	err = store_create(path, true, true, &store);
	check("a directory is not replaced", err && strstr(err->message, "directory"), "it was");
	shiny_err_free(err);
	rmdir(path);
	if (mkfifo(path, 0600) == 0)
		refused("fifo", "not a regular file");
	unlink(path);

	must(store_create(path, false, true, &store));
	put_recorded(store);
	put_sums(store);
	put_events(store, 100000);
	must(store_finish(store, NULL));
	if (stat(path, &st) != 0 || truncate(path, st.st_size / 2) != 0)
		exit(1);
	refused("cut in half", "truncated");
	if (truncate(path, 60) != 0)
		exit(1);
	refused("cut in the header", "not a session file");
	unlink(path);
	must(store_create(path, false, true, &store));
	must(store_finish(store, NULL));
	execute("PRAGMA user_version = 99");
	refused("newer", "format 99");
	execute("PRAGMA user_version = 10");
	refused("older", "it has format 10, and this shinyctl reads format");
	unlink(path);
	err = store_create("/nonexistent/x.shiny", false, true, &store);
	check("no directory", err && strstr(err->message, "/nonexistent/x.shiny") && err->advice,
	      "no such error");
	shiny_err_free(err);
}

int main(void)
{
	if (!fixture_begin())
		return 1;
	test_killed();
	test_refusals();
	return fixture_end();
}
