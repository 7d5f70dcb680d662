/* SPDX-License-Identifier: Apache-2.0 */
/*
 * resolve_ahead.c: see resolve_ahead.h.
 *
 * New places (module, address) pass through a ring under a lock that is held for a copy only. When
 * the ring is full, offering stops and resumes there the next time: nothing is lost, and the ring's
 * size bounds the shared memory. The two innermost return addresses of each new stack are offered:
 * the second is resolved if the first belongs to an allocation function or a wrapper. Deeper ones
 * are resolved at the end. Stacks of one frame are nearly always those of frees, and not offered.
 *
 * The thread empties the ring at once and resolves the places by address: those of one compilation
 * unit are then neighbours, and only a few units stay loaded.
 *
 * No failure here harms the recording: a place that was not resolved is tried again at the end, and
 * then has no type if that fails.
 */
#define _GNU_SOURCE
#include "resolve_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/progress.h"
#include "../../base/row_order.h"
#include "../../base/worker_thread.h"

enum { RING = 4096, LOWEST_PRIORITY = 19 };

struct place {
	uint32_t module, caller_module; /* ids; 0: no file */
	uint64_t vaddr, caller;
};

struct resolve_ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t news;
	/* under the lock */
	struct place ring[RING];
	size_t first, count;
	VEC(struct id_module) known; /* copies, as those of ids.h may move */
	bool stop, ended;
	/* used by the thread, until it has ended */
	const struct sym_options *options;
	struct sym *sym;
	VEC(struct sym_module *) modules; /* [id - 1]; NULL: not opened */
	/* used by the owner */
	size_t stacks;	  /* stacks offered so far */
	uint8_t *offered; /* a bit per frame */
	size_t offered_bytes;
};

/* ---- the thread ---- */

static struct sym_module *module_of(struct resolve_ahead *ahead, uint32_t id,
				    const struct id_module *known)
{
	char path[ID_MODULE_PATH];
	struct shiny_err *err;

	while (ahead->modules.count < id)
		*vec_push(&ahead->modules) = NULL;
	if (!ahead->modules.at[id - 1]) {
		err = sym_module_open(ahead->sym, id_module_path(known, path), known->path,
				      known->build_id_bytes ? known->build_id : NULL,
				      known->build_id_bytes, &ahead->modules.at[id - 1]);
		if (err) {
			shiny_err_free(err);
			ahead->modules.at[id - 1] = NULL;
		}
	}
	return ahead->modules.at[id - 1];
}

ORDER_BY(by_place, struct place, ORDER_UP(module) ?: ORDER_UP(vaddr) ?: ORDER_UP(caller))

/* Takes all places of the ring, sorted by address; 0: the thread shall end. */
static size_t next_places(struct resolve_ahead *ahead, struct place *out)
{
	size_t count = 0;

	pthread_mutex_lock(&ahead->lock);
	while (!ahead->count && !ahead->stop)
		pthread_cond_wait(&ahead->news, &ahead->lock);
	for (; !ahead->stop && ahead->count; ahead->count--) {
		out[count++] = ahead->ring[ahead->first];
		ahead->first = (ahead->first + 1) % RING;
	}
	pthread_mutex_unlock(&ahead->lock);
	if (count)
		qsort(out, count, sizeof(*out), by_place);
	return count;
}

/* Copies what is known of a module; false: the thread shall end. */
static bool look(struct resolve_ahead *ahead, uint32_t module, struct id_module *known)
{
	bool more;

	pthread_mutex_lock(&ahead->lock);
	more = !ahead->stop;
	*known = ahead->known.at[module - 1]; /* the path is not freed before resolve_ahead_take */
	pthread_mutex_unlock(&ahead->lock);
	return more;
}

/* Questions about a return address: its type, and whether it is a wrapper's (wrappers.h). */
enum { ASK_TYPE = 1, ASK_PASSES = 2 };

/* Resolves an address; returns the questions about its caller. It asks no more than the end would:
 * any surplus would differ from recording to recording, and the module's cache would be written
 * again each time. */
static unsigned ask(struct resolve_ahead *ahead, uint32_t module, uint64_t vaddr, unsigned what)
{
	struct sym_call call = { .vaddr = vaddr };
	struct id_module known;
	unsigned more = 0;

	if (!module || !look(ahead, module, &known))
		return 0;
	call.module = module_of(ahead, module, &known);
	if (!call.module)
		return 0;
	if (what & ASK_TYPE && sym_site_warm(ahead->sym, &call))
		more |= ASK_TYPE;
	if (what & ASK_PASSES && sym_call_passes(&call) != SYM_PASSES_NOT)
		more |= ASK_PASSES;
	return more;
}

static void ask_place(struct resolve_ahead *ahead, const struct place *place)
{
	unsigned more = ask(ahead, place->module, place->vaddr, ASK_TYPE | ASK_PASSES);

	if (more)
		ask(ahead, place->caller_module, place->caller, more);
}

static void *work(void *context)
{
	struct resolve_ahead *ahead = context;
	struct place *places = mem_zero(RING, sizeof(*places));
	struct shiny_err *err;
	size_t count;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOWEST_PRIORITY);
	err = sym_create(ahead->options, &ahead->sym);
	if (err) {
		shiny_err_free(err);
		ahead->sym = NULL;
	}
	while (ahead->sym && (count = next_places(ahead, places)))
		for (size_t i = 0; i < count; i++)
			ask_place(ahead, &places[i]);
	free(places);
	pthread_mutex_lock(&ahead->lock);
	ahead->ended = true;
	pthread_cond_broadcast(&ahead->news);
	pthread_mutex_unlock(&ahead->lock);
	return NULL;
}

/* ---- the owner's side ---- */

struct resolve_ahead *resolve_ahead_start(const struct sym_options *options)
{
	struct resolve_ahead *ahead = mem_zero(1, sizeof(*ahead));
	pthread_condattr_t attributes;

	ahead->options = options;
	pthread_mutex_init(&ahead->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&ahead->news, &attributes);
	pthread_condattr_destroy(&attributes);
	if (thread_start(&ahead->thread, work, ahead))
		return ahead;
	pthread_cond_destroy(&ahead->news);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	return NULL;
}

static void share_modules(struct resolve_ahead *ahead, const struct ids *ids)
{
	while (ahead->known.count < ids->modules.count) {
		struct id_module copy = ids->modules.at[ahead->known.count];

		copy.path = mem_text(copy.path);
		*vec_push(&ahead->known) = copy;
	}
}

/* True if the frame was offered before; marks it as offered. */
static bool mark(struct resolve_ahead *ahead, uint32_t frame)
{
	size_t byte = frame / 8;
	uint8_t bit = (uint8_t)(1u << frame % 8);

	if (byte >= ahead->offered_bytes) {
		size_t bytes = ahead->offered_bytes ? ahead->offered_bytes : 4096;

		while (bytes <= byte)
			bytes *= 2;
		ahead->offered = mem_resize(ahead->offered, bytes, 1);
		memset(ahead->offered + ahead->offered_bytes, 0, bytes - ahead->offered_bytes);
		ahead->offered_bytes = bytes;
	}
	if (ahead->offered[byte] & bit)
		return true;
	ahead->offered[byte] |= bit;
	return false;
}

void resolve_ahead_offer(struct resolve_ahead *ahead, const struct ids *ids)
{
	if (ahead->stacks == ids->stacks.count)
		return;
	pthread_mutex_lock(&ahead->lock);
	share_modules(ahead, ids);
	while (ahead->stacks < ids->stacks.count && ahead->count < RING) {
		const struct id_stack *stack = &ids->stacks.at[ahead->stacks++];
		const uint32_t *frames = &ids->stack_frames.at[stack->first];
		const struct id_place *place, *caller;
		bool known;

		if (stack->count < 2)
			continue;
		place = &ids->frames.at[frames[0] - 1];
		caller = &ids->frames.at[frames[1] - 1];
		known = mark(ahead, frames[0]);
		known &= mark(ahead, frames[1]);
		if (!known)
			ahead->ring[(ahead->first + ahead->count++) % RING] =
				(struct place){ place->module, caller->module, place->vaddr,
						caller->vaddr };
	}
	pthread_cond_signal(&ahead->news);
	pthread_mutex_unlock(&ahead->lock);
}

static void wait_for_end(struct resolve_ahead *ahead, bool show)
{
	struct progress progress;
	struct timespec until;

	progress_begin(&progress, "typing call sites", show);
	pthread_mutex_lock(&ahead->lock);
	ahead->stop = true;
	pthread_cond_broadcast(&ahead->news);
	while (!ahead->ended) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 100000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&ahead->news, &ahead->lock, &until);
		progress_set(&progress, 0, 0);
	}
	pthread_mutex_unlock(&ahead->lock);
	progress_end(&progress);
	pthread_join(ahead->thread, NULL);
}

struct sym *resolve_ahead_take(struct resolve_ahead *ahead, struct sym_module **modules,
			       size_t count, bool progress)
{
	struct sym *sym;

	if (!ahead)
		return NULL;
	wait_for_end(ahead, progress);
	sym = ahead->sym;
	for (size_t i = 0; i < ahead->modules.count && i + 1 < count; i++)
		modules[i + 1] = ahead->modules.at[i];
	for (size_t i = 0; i < ahead->known.count; i++)
		free(ahead->known.at[i].path);
	free(ahead->known.at);
	free(ahead->modules.at);
	free(ahead->offered);
	pthread_cond_destroy(&ahead->news);
	pthread_mutex_destroy(&ahead->lock);
	free(ahead);
	return sym;
}
