/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_thread.h: a thread of the sidecar's beside its loop.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: that is its purpose.
 */
#ifndef SHINY_WORKER_THREAD_H
#define SHINY_WORKER_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Signals are the loop's, but for SIGBUS, which comes to the thread that meets it. False: there is
 * no thread to be had.
 */
bool thread_start(pthread_t *out, void *(*run)(void *), void *context);

#endif
