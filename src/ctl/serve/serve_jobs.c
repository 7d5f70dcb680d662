/* SPDX-License-Identifier: Apache-2.0 */
/* serve_jobs.c: see serve_jobs.h. */
#define _GNU_SOURCE
#include "serve_jobs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../base/mem.h"

#define ENDED "the process that made the page was ended"

void serve_jobs_begin(struct serve_jobs *jobs, serve_fn *document, void *context)
{
	*jobs = (struct serve_jobs){ .document = document, .context = context };
	snprintf(jobs->directory, sizeof(jobs->directory), "/tmp/shiny-serve.XXXXXX");
	if (!mkdtemp(jobs->directory))
		jobs->directory[0] = '\0';
}

struct serve_job *serve_jobs_add(struct serve_jobs *jobs, const char *path, void *owner)
{
	struct serve_job *job = mem_zero(1, sizeof(*job)), **last = &jobs->first;

	job->path = mem_text(path);
	job->owner = owner;
	job->fd = memfd_create("document", MFD_CLOEXEC);
	job->result = mmap(NULL, sizeof(*job->result), PROT_READ | PROT_WRITE,
			   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	while (*last)
		last = &(*last)->next;
	*last = job;
	if (job->fd >= 0 && job->result != MAP_FAILED)
		return job;
	serve_job_free(jobs, job);
	return NULL;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
	for (ssize_t n; bytes; data += n, bytes -= (size_t)n)
		if ((n = write(fd, data, bytes)) <= 0)
			return false;
	return true;
}

_Noreturn static void run_job(const struct serve_jobs *jobs, struct serve_job *job, pid_t parent)
{
	struct serve_document document = { 0 };
	struct shiny_err *err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	setpgid(0, 0);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	signal(SIGBUS, SIG_DFL);
	if (*jobs->directory)
		setenv("TMPDIR", jobs->directory, 1);
	err = jobs->document(jobs->context, job->path, &document);
	if (!err && document.text && !write_all(job->fd, document.text, document.bytes))
		err = shiny_err_os(errno, "cannot keep the page");
	if (err)
		snprintf(job->result->why, sizeof(job->result->why), "%s", err->message);
	job->result->found = document.text;
	job->result->packed = document.packed;
	job->result->refresh = document.refresh;
	job->result->done = true;
	_exit(0);
}

static void start(struct serve_jobs *jobs, struct serve_job *job)
{
	pid_t parent = getpid();

	fflush(NULL);
	job->pid = fork();
	if (!job->pid)
		run_job(jobs, job, parent);
	if (job->pid > 0) {
		setpgid(job->pid, job->pid); /* parent and child both do it: either may be first */
		return;
	}
	snprintf(job->result->why, sizeof(job->result->why), "cannot start a process: %s",
		 strerror(errno));
	job->pid = 0;
	job->ended = true;
}

struct serve_job *serve_jobs_next(struct serve_jobs *jobs)
{
	struct serve_job *ended = NULL;
	unsigned running = 0;

	for (struct serve_job *job = jobs->first; job && !ended; job = job->next) {
		if (job->ended)
			continue;
		if (!job->pid && running < JOBS_RUNNING)
			start(jobs, job);
		if (job->pid && waitpid(job->pid, NULL, WNOHANG) == job->pid) {
			job->pid = 0;
			job->ended = true;
			if (!job->result->done)
				snprintf(job->result->why, sizeof(job->result->why), ENDED);
		}
		running += job->pid != 0;
		if (job->ended)
			ended = job;
	}
	return ended;
}

bool serve_jobs_any(const struct serve_jobs *jobs)
{
	for (const struct serve_job *job = jobs->first; job; job = job->next)
		if (!job->ended)
			return true;
	return false;
}

void serve_job_free(struct serve_jobs *jobs, struct serve_job *job)
{
	for (struct serve_job **at = &jobs->first; *at; at = &(*at)->next)
		if (*at == job) {
			*at = job->next;
			break;
		}
	if (job->pid) {
		kill(-job->pid, SIGKILL);
		while (waitpid(job->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (job->fd >= 0)
		close(job->fd);
	if (job->result != MAP_FAILED)
		munmap(job->result, sizeof(*job->result));
	free(job->path);
	free(job);
}

/* Removes files that an ended process could not: a directory of files (live_sample.c). */
static void remove_below(const char *path, int depth)
{
	DIR *handle = opendir(path);
	struct dirent *entry;

	while (handle && (entry = readdir(handle))) {
		char *name = mem_format("%s/%s", path, entry->d_name);

		if (*entry->d_name != '.' && unlink(name) != 0 && depth)
			remove_below(name, depth - 1);
		free(name);
	}
	if (handle)
		closedir(handle);
	rmdir(path);
}

void serve_jobs_end(struct serve_jobs *jobs)
{
	while (jobs->first)
		serve_job_free(jobs, jobs->first);
	/* children of a job's process end shortly after it */
	for (int i = 0; *jobs->directory && i < 100; i++) {
		remove_below(jobs->directory, 1);
		if (access(jobs->directory, F_OK) != 0)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 10000000 }, NULL);
	}
}
