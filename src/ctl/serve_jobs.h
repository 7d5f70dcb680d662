/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_jobs.h: the documents of `serve`, each made by a process of its own, some at a time. One
 * that takes long keeps nobody waiting, and what a file does to its reader ends that reader alone.
 *
 * Runs: CLI. Signals: no. Allocates: a file in memory and two pages a job. Threads: one; a process
 * a job.
 */
#ifndef SHINY_SERVE_JOBS_H
#define SHINY_SERVE_JOBS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "../base/err.h"

struct serve_document {
	char *text; /* HTML, to be freed; NULL: there is none of that address */
	size_t bytes;
	unsigned refresh; /* seconds until the browser asks again; 0 never */
};
/* `path`: behind the token: "", "0", "0/1". */
typedef struct shiny_err *serve_fn(void *context, const char *path, struct serve_document *out);

enum { JOBS_RUNNING = 4 }; /* the others wait for their turn */

struct serve_result { /* what a job's process says of its document */
	bool done;  /* it came to its end */
	bool found; /* there is a document of that address */
	unsigned refresh;
	char why[1024]; /* not empty: it could not be made */
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
	struct serve_job *first; /* in the order in which they came */
	serve_fn *document;
	void *context;
	char directory[32]; /* in which processes leave what they need; "" none */
};

void serve_jobs_begin(struct serve_jobs *jobs, serve_fn *document, void *context);
/* NULL: there is no memory for it. */
struct serve_job *serve_jobs_add(struct serve_jobs *jobs, const char *path, void *owner);
/* Starts those whose turn it is; a job that has ended since the last call, or NULL. */
struct serve_job *serve_jobs_next(struct serve_jobs *jobs);
bool serve_jobs_any(const struct serve_jobs *jobs); /* that has not ended */
void serve_job_free(struct serve_jobs *jobs, struct serve_job *job); /* ends its process */
void serve_jobs_end(struct serve_jobs *jobs);

#endif
