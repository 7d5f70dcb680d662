/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_jobs.h: makes the documents of `serve`, each in a process of its own, some at a time. A
 * slow one delays no other, and a file that crashes its reader ends only that process.
 *
 * Runs: CLI. Signals: no. Allocates: a file in memory and two pages a job. Threads: one; a process
 * a job.
 */
#ifndef SHINY_SERVE_JOBS_H
#define SHINY_SERVE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../../base/err.h"

struct serve_document {
	char *text; /* HTML, the caller frees it; NULL: no such address */
	size_t bytes;
	bool packed; /* it is no HTML but a file that gzip packed */
	unsigned refresh; /* seconds until the browser reloads; 0: never */
};
/* `path`: after the token: "", "0", "0/1". */
typedef struct shiny_err *serve_fn(void *context, const char *path, struct serve_document *out);

enum { JOBS_RUNNING = 4 }; /* more jobs wait */

struct serve_result { /* the result of a job's process */
	bool done;  /* the process finished */
	bool found; /* the address has a document */
	bool packed; /* as in the document */
	unsigned refresh;
	char why[1024]; /* the error; "": none */
};

struct serve_job {
	struct serve_job *next;
	void *owner; /* the caller's */
	char *path;
	pid_t pid; /* 0: it waits, or has ended */
	bool ended;
	int fd; /* of the document */
	struct serve_result *result; /* shared with the process */
};

struct serve_jobs {
	struct serve_job *first; /* oldest first */
	serve_fn *document;
	void *context;
	char directory[32]; /* for files of the processes; "": none */
};

void serve_jobs_begin(struct serve_jobs *jobs, serve_fn *document, void *context);
/* Returns a job; NULL: no memory for it. */
struct serve_job *serve_jobs_add(struct serve_jobs *jobs, const char *path, void *owner);
/* Starts waiting jobs; returns one that has ended since the last call, or NULL. */
struct serve_job *serve_jobs_next(struct serve_jobs *jobs);
bool serve_jobs_any(const struct serve_jobs *jobs); /* a job has not ended */
void serve_job_free(struct serve_jobs *jobs, struct serve_job *job); /* also ends its process */
void serve_jobs_end(struct serve_jobs *jobs);

#endif
