/* SPDX-License-Identifier: Apache-2.0 */
/* worker_thread.c: see worker_thread.h. */
#include "worker_thread.h"

#include <signal.h>

bool thread_start(pthread_t *out, void *(*run)(void *), void *context)
{
	sigset_t all, before;
	int error;

	sigfillset(&all);
	sigdelset(&all, SIGBUS);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	error = pthread_create(out, NULL, run, context);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !error;
}
