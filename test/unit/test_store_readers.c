/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_store_readers.c: readers beside a writer: they never make a recording fail, keep their
 * locks, and wait for a file that is still being written.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "../../src/base/cleanup.h"
#include "store_fixture.h"

/* Reads the file again and again, as somebody does who waits for a session, until it is killed. */
static pid_t start_reader(const char *file)
{
	pid_t child = fork();

	while (child == 0) {
		sqlite3 *db = NULL;

		if (sqlite3_open_v2(file, &db, SQLITE_OPEN_READONLY, NULL) == SQLITE_OK)
			sqlite3_exec(db,
				     "BEGIN; SELECT COUNT(*) FROM sqlite_master; SELECT COUNT(*) "
				     "FROM session; COMMIT",
				     NULL, NULL, NULL);
		sqlite3_close(db);
		usleep(500);
	}
	return child;
}

/* Readers never make a recording fail, neither when it begins nor when it ends. */
static void test_watched(void)
{
	struct shiny_err *err = NULL;
	pid_t readers[3];

	for (size_t i = 0; i < 3; i++)
		readers[i] = start_reader(path);
	for (int round = 0; round < 60 && !err; round++) {
		struct store *store;

		err = store_create(path, false, false, &store);
		if (!err)
			err = store_finish(store, NULL);
		unlink(path);
	}
	check("readers that come at any moment", !err, err ? err->message : "");
	shiny_err_free(err);
	for (size_t i = 0; i < 3; i++) {
		kill(readers[i], SIGKILL);
		waitpid(readers[i], NULL, 0);
	}
}

/* Whether this process holds an fcntl lock on the file, as the kernel says. */
static bool we_lock(const char *file)
{
	AUTO_FCLOSE FILE *locks = fopen("/proc/locks", "r");
	char line[256];
	struct stat st;
	bool found = false;

	if (!locks || stat(file, &st) != 0)
		exit(1);
	while (fgets(line, sizeof(line), locks)) {
		unsigned long inode;
		int pid;

		found = found ||
			(sscanf(line, "%*s POSIX %*s %*s %d %*x:%*x:%lu", &pid, &inode) == 2 &&
			 pid == getpid() && inode == st.st_ino);
	}
	return found;
}

static bool exists_with(const char *suffix)
{
	char name[sizeof(path) + 8];

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	return access(name, F_OK) == 0;
}

/* A reader of a live session keeps SQLite's lock on it, whatever else its process opens there. */
static void test_locks_of_readers(void)
{
	struct store *first, *second;
	int made[2], done[2];
	pid_t writer;
	int status = 0;
	char byte = 0;

	if (pipe(made) != 0 || pipe(done) != 0)
		exit(1);
	writer = fork();
	if (writer == 0) {
		struct store *store;

		close(done[1]);
		must(store_create(path, false, false, &store));
		must(store_put_text(store, "host", "here"));
		must(store_commit(store));
		if (write(made[1], &byte, 1) != 1 || read(done[0], &byte, 1) < 0)
			_exit(1);
		must(store_finish(store, NULL));
		_exit(0);
	}
	close(done[0]);
	if (writer < 0 || read(made[0], &byte, 1) != 1)
		exit(1);
	must(store_open(path, &first));
	check("a reader's lock", we_lock(path), "it is not there");
	check("is written", store_is_written(path), "it says no");
	check("a reader's lock, asked whether it is written", we_lock(path), "it is lost");
	must(store_open(path, &second));
	store_close(second);
	check("a reader's lock, opened twice", we_lock(path), "it is lost");
	must(store_open_again(first, &second));
	store_close(first);
	check("a reader's lock, the other one closed", we_lock(path), "it is lost");
	close(done[1]);
	check("finished beside a reader", waitpid(writer, &status, 0) == writer && !status,
	      "the writer failed");
	expect(second, "the reader after the end", "SELECT value FROM session WHERE key = 'host'",
	       "here");
	store_close(second);
	check("no reader", !we_lock(path), "there is a lock");
	check("no log stays", !exists_with("-wal") && !exists_with("-shm"), "it is there");
	must(store_open(path, &first));
	check("finished beside a reader, complete", store_complete(first), "it is not");
	store_close(first);
	close(made[0]);
	close(made[1]);
	unlink(path);
}

enum { SOMEBODY = 65534, ROUNDS = 20 };

/*
 * Root reads the file as it begins to have a log: SQLite then makes the log's companion, and gives
 * it to the file's owner afterwards. Here it takes its time between the two. False: the writer was
 * faster.
 */
static bool read_as_root(pid_t writer, const char *companion)
{
	siginfo_t ended = { 0 };
	int fd;

	while (access(path, F_OK) != 0 &&
	       waitid(P_PID, (id_t)writer, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
	       !ended.si_pid)
		sched_yield();
	fd = open(companion, O_RDWR | O_CREAT | O_EXCL, 0644);
	if (fd < 0)
		return false;
	usleep(100000);
	if (fchown(fd, SOMEBODY, SOMEBODY) != 0)
		exit(1);
	close(fd);
	return true;
}

static void test_root_reads(void)
{
	char companion[sizeof(path) + 8];
	bool met = false;
	int status = 0;

	if (getuid() != 0) {
		printf("skip root reads: only root can give files away\n");
		return;
	}
	snprintf(companion, sizeof(companion), "%s-shm", path);
	if (chown(directory, SOMEBODY, SOMEBODY) != 0)
		exit(1);
	for (int round = 0; round < ROUNDS && !met && !status; round++) {
		pid_t writer = fork();

		if (writer == 0) {
			struct store *store;

			if (setgid(SOMEBODY) != 0 || setuid(SOMEBODY) != 0)
				_exit(1);
			usleep(10000);
			must(store_create(path, false, false, &store));
			must(store_finish(store, NULL));
			_exit(0);
		}
		met = read_as_root(writer, companion);
		waitpid(writer, &status, 0);
		unlink(path);
	}
	check("a recording that root reads as it begins", status == 0, "it failed");
	if (!met)
		printf("skip root came in time: the log was there each time, so it proved "
		       "nothing\n");
}

enum { LATER_US = 300000 };

/* SQLite's exclusive lock: https://www.sqlite.org/fileformat.html section 1.1, and "File Locking
 * And Concurrency" in its documentation. */
static bool lock_pages(int fd, short kind)
{
	struct flock bytes = { .l_type = kind,
			       .l_whence = SEEK_SET,
			       .l_start = 0x40000000,
			       .l_len = 512 };

	return fcntl(fd, F_SETLK, &bytes) == 0;
}

/* Writes the session `whole` to the descriptor as SQLite does: its first page, the rest a while
 * later, and lets nobody read in between. */
static bool write_slowly(const char *whole, int to)
{
	enum { PAGE = 4096 };
	int from = open(whole, O_RDONLY);
	struct stat st;
	bool ok = from >= 0 && fstat(from, &st) == 0 && st.st_size > PAGE &&
		  lock_pages(to, F_WRLCK) && sendfile(to, from, NULL, PAGE) == PAGE;

	if (!ok)
		return false;
	usleep(LATER_US);
	return sendfile(to, from, NULL, (size_t)st.st_size) == st.st_size - PAGE &&
	       lock_pages(to, F_UNLCK);
}

/* A file that gets its tables, and many rows, while a reader waits for them: what it may hold goes
 * by its size then, not by that at the reader's first look, and half of it is not a cut file. */
static void test_grows(void)
{
	enum { FRAMES = 100000 };
	char whole[sizeof(directory) + 16];
	struct store *store;
	struct shiny_err *err;
	int begun[2], read_it[2], status = 0;
	char byte = 0;
	pid_t writer;

	snprintf(whole, sizeof(whole), "%s/whole", directory);
	must(store_create(whole, false, false, &store));
	for (uint32_t id = 1; id <= FRAMES; id++)
		must(store_put_frame(store, id, 0, id, NULL, 0));
	must(store_finish(store, NULL));
	if (pipe(begun) != 0 || pipe(read_it) != 0)
		exit(1);
	writer = fork();
	if (writer == 0) {
		int to = open(path, O_RDWR | O_CREAT, 0600);

		close(read_it[1]);
		if (flock(to, LOCK_EX) != 0 || write(begun[1], &byte, 1) != 1)
			_exit(1);
		usleep(LATER_US);
		_exit(!write_slowly(whole, to) || read(read_it[0], &byte, 1) != 0);
	}
	close(read_it[0]);
	if (writer < 0 || read(begun[0], &byte, 1) != 1)
		exit(1);
	err = store_open(path, &store);
	check("a session that grows while it is waited for", !err, err ? err->message : "");
	if (!err)
		store_close(store);
	shiny_err_free(err);
	close(read_it[1]);
	check("its writer", waitpid(writer, &status, 0) == writer && !status, "it failed");
	unlink(path);
	unlink(whole);
}

int main(void)
{
	if (!fixture_begin())
		return 1;
	test_watched();
	test_locks_of_readers();
	test_root_reads();
	test_grows();
	return fixture_end();
}
