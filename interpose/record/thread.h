/* SPDX-License-Identifier: Apache-2.0 */
/*
 * thread.h: enters and leaves a thread's stream, and keeps signal handlers out of it meanwhile.
 *
 * Runs:      inside.
 * Signals:   safe: see `busy`.
 * Allocates: nothing after boot.
 * Threads:   a writer belongs to one thread; the late stream is shared behind its `busy` word.
 */
#ifndef SI_THREAD_H
#define SI_THREAD_H

#include "../core/ring_map.h"
#include "../core/base.h"
#include "process.h"
#include "writer.h"

/* Reserves the writers and creates the key. Called in boot. */
bool si_threads_make(void);

/* The rare halves of si_enter. Each returns a writer with `busy` set, or NULL: the event is dropped
 * and counted. */
SI_COLD struct si_writer *si_thread_first(const uintptr_t *fp);
SI_COLD struct si_writer *si_thread_nested(const uintptr_t *fp);

/* Stores the calling thread's new name, at most SHINY_THREAD_NAME bytes of it. */
void si_thread_named(const char *name);

/* Frees the block whose free was handed over to this writer; called outside `busy`. */
SI_COLD void si_orphan_release(struct si_writer *w);

/* Enters this thread's stream, whether recording is on or not: for records that the sidecar needs
 * anyway (modules). The process is alive. */
SI_HOT struct si_writer *si_enter_any(const uintptr_t *fp)
{
	struct si_writer *w = si_tls.writer;

	if (SI_UNLIKELY(!w))
		return si_thread_first(fp);
	if (SI_UNLIKELY(w->busy))
		return si_thread_nested(fp);
	w->busy = (uintptr_t)fp;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return w;
}

/* Enters this thread's stream for one event; NULL: recording is off, or the event is dropped. Leave
 * it soon: a handler that runs now writes to another stream. */
SI_HOT struct si_writer *si_enter(const uintptr_t *fp)
{
	/* [ctl] */
	if (!si_alive_for_event() || !__atomic_load_n(&si_ring.header->recording, __ATOMIC_RELAXED))
		return NULL;
	return si_enter_any(fp);
}

SI_HOT void si_leave(struct si_writer *w)
{
	__atomic_store_n(&w->busy, 0, __ATOMIC_RELEASE);
	if (SI_UNLIKELY(w->orphan != NULL))
		si_orphan_release(w);
}

#ifdef SHINY_TEST
extern void (*si_thread_test_pause)(void); /* in the middle of a claim */
#endif

#endif
