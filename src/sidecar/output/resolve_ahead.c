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
#include "../../base/worker_thread.h"

enum { RING = 4096, LOWEST_PRIORITY = 19 };

struct place {
	uint32_t module, caller_module; /* ids; 0: no file */
	uint64_t vaddr, caller;
};

struct warm {
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
	size_t stacks;    /* stacks offered so far */
	uint8_t *offered; /* a bit per frame */
	size_t offered_bytes;
};

/* ---- the thread ---- */

static struct sym_module *module_of(struct warm *warm, uint32_t id, const struct id_module *known)
{
	char path[ID_MODULE_PATH];
	struct shiny_err *err;

	while (warm->modules.count < id)
		*vec_push(&warm->modules) = NULL;
	if (!warm->modules.at[id - 1]) {
		err = sym_module_open(warm->sym, id_module_path(known, path), known->path,
				      known->build_id_bytes ? known->build_id : NULL,
				      known->build_id_bytes, &warm->modules.at[id - 1]);
		if (err) {
			shiny_err_free(err);
			warm->modules.at[id - 1] = NULL;
		}
	}
	return warm->modules.at[id - 1];
}

static int by_place(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->module != b->module)
		return a->module < b->module ? -1 : 1;
	if (a->vaddr != b->vaddr)
		return a->vaddr < b->vaddr ? -1 : 1;
	return (a->caller > b->caller) - (a->caller < b->caller);
}

/* Takes all places of the ring, sorted by address; 0: the thread shall end. */
static size_t next_places(struct warm *warm, struct place *out)
{
	size_t count = 0;

	pthread_mutex_lock(&warm->lock);
	while (!warm->count && !warm->stop)
		pthread_cond_wait(&warm->news, &warm->lock);
	for (; !warm->stop && warm->count; warm->count--) {
		out[count++] = warm->ring[warm->first];
		warm->first = (warm->first + 1) % RING;
	}
	pthread_mutex_unlock(&warm->lock);
	if (count)
		qsort(out, count, sizeof(*out), by_place);
	return count;
}

/* Copies what is known of a module; false: the thread shall end. */
static bool look(struct warm *warm, uint32_t module, struct id_module *known)
{
	bool more;

	pthread_mutex_lock(&warm->lock);
	more = !warm->stop;
	*known = warm->known.at[module - 1]; /* the path is not freed before warm_take */
	pthread_mutex_unlock(&warm->lock);
	return more;
}

/* Questions about a return address: its type, and whether it is a wrapper's (wrappers.h). */
enum { ASK_TYPE = 1, ASK_PASSES = 2 };

/* Resolves an address; returns the questions about its caller. It asks no more than the end would:
 * any surplus would differ from recording to recording, and the module's cache would be written
 * again each time. */
static unsigned ask(struct warm *warm, uint32_t module, uint64_t vaddr, unsigned what)
{
	struct sym_call call = { .vaddr = vaddr };
	struct id_module known;
	unsigned more = 0;

	if (!module || !look(warm, module, &known))
		return 0;
	call.module = module_of(warm, module, &known);
	if (!call.module)
		return 0;
	if (what & ASK_TYPE && sym_site_warm(warm->sym, &call))
		more |= ASK_TYPE;
	if (what & ASK_PASSES && sym_call_passes(&call) != SYM_PASSES_NOT)
		more |= ASK_PASSES;
	return more;
}

static void ask_place(struct warm *warm, const struct place *place)
{
	unsigned more = ask(warm, place->module, place->vaddr, ASK_TYPE | ASK_PASSES);

	if (more)
		ask(warm, place->caller_module, place->caller, more);
}

static void *work(void *context)
{
	struct warm *warm = context;
	struct place *places = mem_zero(RING, sizeof(*places));
	struct shiny_err *err;
	size_t count;

	setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), LOWEST_PRIORITY);
	err = sym_create(warm->options, &warm->sym);
	if (err) {
		shiny_err_free(err);
		warm->sym = NULL;
	}
	while (warm->sym && (count = next_places(warm, places)))
		for (size_t i = 0; i < count; i++)
			ask_place(warm, &places[i]);
	free(places);
	pthread_mutex_lock(&warm->lock);
	warm->ended = true;
	pthread_cond_broadcast(&warm->news);
	pthread_mutex_unlock(&warm->lock);
	return NULL;
}

/* ---- the owner's side ---- */

struct warm *warm_start(const struct sym_options *options)
{
	struct warm *warm = mem_zero(1, sizeof(*warm));
	pthread_condattr_t attributes;

	warm->options = options;
	pthread_mutex_init(&warm->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&warm->news, &attributes);
	pthread_condattr_destroy(&attributes);
	if (thread_start(&warm->thread, work, warm))
		return warm;
	pthread_cond_destroy(&warm->news);
	pthread_mutex_destroy(&warm->lock);
	free(warm);
	return NULL;
}

static void share_modules(struct warm *warm, const struct ids *ids)
{
	while (warm->known.count < ids->modules.count) {
		struct id_module copy = ids->modules.at[warm->known.count];

		copy.path = mem_text(copy.path);
		*vec_push(&warm->known) = copy;
	}
}

/* True if the frame was offered before; marks it as offered. */
static bool mark(struct warm *warm, uint32_t frame)
{
	size_t byte = frame / 8;
	uint8_t bit = (uint8_t)(1u << frame % 8);

	if (byte >= warm->offered_bytes) {
		size_t bytes = warm->offered_bytes ? warm->offered_bytes : 4096;

		while (bytes <= byte)
			bytes *= 2;
		warm->offered = mem_resize(warm->offered, bytes, 1);
		memset(warm->offered + warm->offered_bytes, 0, bytes - warm->offered_bytes);
		warm->offered_bytes = bytes;
	}
	if (warm->offered[byte] & bit)
		return true;
	warm->offered[byte] |= bit;
	return false;
}

void warm_offer(struct warm *warm, const struct ids *ids)
{
	if (warm->stacks == ids->stacks.count)
		return;
	pthread_mutex_lock(&warm->lock);
	share_modules(warm, ids);
	while (warm->stacks < ids->stacks.count && warm->count < RING) {
		const struct id_stack *stack = &ids->stacks.at[warm->stacks++];
		const uint32_t *frames = &ids->stack_frames.at[stack->first];
		const struct id_place *place, *caller;
		bool known;

		if (stack->count < 2)
			continue;
		place = &ids->frames.at[frames[0] - 1];
		caller = &ids->frames.at[frames[1] - 1];
		known = mark(warm, frames[0]);
		known &= mark(warm, frames[1]);
		if (!known)
			warm->ring[(warm->first + warm->count++) % RING] =
				(struct place){ place->module, caller->module, place->vaddr,
						caller->vaddr };
	}
	pthread_cond_signal(&warm->news);
	pthread_mutex_unlock(&warm->lock);
}

static void wait_for_end(struct warm *warm, bool show)
{
	struct progress progress;
	struct timespec until;

	progress_begin(&progress, "typing call sites", show);
	pthread_mutex_lock(&warm->lock);
	warm->stop = true;
	pthread_cond_broadcast(&warm->news);
	while (!warm->ended) {
		clock_gettime(CLOCK_MONOTONIC, &until);
		until.tv_nsec += 100000000;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		pthread_cond_timedwait(&warm->news, &warm->lock, &until);
		progress_set(&progress, 0, 0);
	}
	pthread_mutex_unlock(&warm->lock);
	progress_end(&progress);
	pthread_join(warm->thread, NULL);
}

struct sym *warm_take(struct warm *warm, struct sym_module **modules, size_t count, bool progress)
{
	struct sym *sym;

	if (!warm)
		return NULL;
	wait_for_end(warm, progress);
	sym = warm->sym;
	for (size_t i = 0; i < warm->modules.count && i + 1 < count; i++)
		modules[i + 1] = warm->modules.at[i];
	for (size_t i = 0; i < warm->known.count; i++)
		free(warm->known.at[i].path);
	free(warm->known.at);
	free(warm->modules.at);
	free(warm->offered);
	pthread_cond_destroy(&warm->news);
	pthread_mutex_destroy(&warm->lock);
	free(warm);
	return sym;
}
