/* SPDX-License-Identifier: Apache-2.0 */
/*
 * worker_thread.h: a thread of the sidecar beside its loop.
 *
 * Runs: sidecar. Signals: no. Allocates: no. Threads: that is its purpose.
 */
#ifndef SHINY_WORKER_THREAD_H
#define SHINY_WORKER_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/*
 * Starts a thread that blocks all signals, which the loop takes, except SIGBUS, which the kernel
 * sends to the faulting thread. False: no thread can be created.
 */
bool thread_start(pthread_t *out, void *(*run)(void *), void *context);

#endif
