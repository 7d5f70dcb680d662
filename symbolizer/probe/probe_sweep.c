/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_sweep.c: see probe_sweep.h.
 *
 * Decoding all 236 MB of Chromium's code takes a minute. But the wanted instructions name their
 * address relative to the instruction's end, in their last four bytes, after two or three bytes
 * that are always the same; so the bytes are compared at every position, 16 at once, and only where
 * they fit is the address computed. Of 60,000 such places in Chromium 156 that name one in the 256
 * KB of its GCInfos, a third are chance; the decoder that starts there recognizes it.
 *
 * The threads get windows of 4 MiB in order. These are read by mapping, requested as a whole (a
 * page at a time, like the other parts of the file, would cost a disk access each), and released.
 */
#define _GNU_SOURCE
#include "probe_sweep.h"

#include <emmintrin.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../../src/base/lower_bound.h"

enum { WINDOW = 4 << 20, REACH = 16 }; /* an instruction's bytes may end in the next window */

struct window_list {
	const struct probe_sweep *sweep;
	atomic_size_t next;
	atomic_bool stop;
};
struct worker {
	struct window_list *list;
	unsigned number;
};

static bool is_code(const Elf64_Phdr *segment)
{
	return segment->p_type == PT_LOAD && segment->p_flags & PF_X;
}

/* Finds window number `number` of all. False: there are fewer. */
static bool window_at(const struct binary *file, size_t number, uint64_t *vaddr, uint64_t *bytes,
		      uint64_t *room, bool *first)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t all = is_code(segment) ? binary_room(file, segment->p_vaddr) : 0,
			 windows = (all + WINDOW - 1) / WINDOW;

		if (number < windows) {
			*vaddr = segment->p_vaddr + number * (uint64_t)WINDOW;
			*room = all - number * (uint64_t)WINDOW;
			*bytes = *room < WINDOW ? *room : WINDOW;
			*first = !number;
			return true;
		}
		number -= windows;
	}
	return false;
}

static bool wanted(const struct probe_sweep *sweep, uint64_t address)
{
	size_t low;

	if (address - sweep->low >= sweep->high - sweep->low)
		return false;
	if (!sweep->only)
		return true;
	low = lower_bound(sweep->only_count, i, sweep->only[i] < address);
	return low < sweep->only_count && sweep->only[low] == address;
}

/*
 * Reports the place if its address is wanted. The opcode's bytes are at `code`, which runs at
 * `vaddr`; `extra` of them precede the address. A prefix before the opcode is part of the
 * instruction; at the segment's start there is none.
 */
static bool report(struct worker *worker, const uint8_t *code, uint64_t vaddr, size_t extra,
		   bool first)
{
	const struct probe_sweep *sweep = worker->list->sweep;
	uint8_t prefix = first ? 0 : code[-1];
	int32_t distance;
	uint64_t address;

	memcpy(&distance, code + extra, sizeof(distance));
	address = vaddr + extra + sizeof(distance) + (uint64_t)(int64_t)distance;
	if (!wanted(sweep, address))
		return true;
	if (sweep->form == SWEEP_ADDRESS && (prefix & 0xfb) != 0x48) /* REX.W, with or without R */
		return true;
	if (sweep->form != SWEEP_CALL && (prefix & 0xf0) == 0x40)
		vaddr--;
	return sweep->place(sweep->context, worker->number, vaddr, address);
}

static unsigned fitting(enum sweep_form form, const uint8_t *at)
{
	__m128i first = _mm_loadu_si128((const __m128i *)(const void *)at), second, third;

	switch (form) {
	case SWEEP_ADDRESS: /* 8d, ModRM 00 reg 101 */
		second = _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)(at + 1)),
				       _mm_set1_epi8((char)0xc7));
		return (unsigned)_mm_movemask_epi8(
			_mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8((char)0x8d)),
				      _mm_cmpeq_epi8(second, _mm_set1_epi8(0x05))));
	case SWEEP_LOAD16: /* 0f b7, ModRM 00 reg 101 */
		second = _mm_loadu_si128((const __m128i *)(const void *)(at + 1));
		third = _mm_and_si128(_mm_loadu_si128((const __m128i *)(const void *)(at + 2)),
				      _mm_set1_epi8((char)0xc7));
		return (unsigned)_mm_movemask_epi8(_mm_and_si128(
			_mm_and_si128(_mm_cmpeq_epi8(first, _mm_set1_epi8(0x0f)),
				      _mm_cmpeq_epi8(second, _mm_set1_epi8((char)0xb7))),
			_mm_cmpeq_epi8(third, _mm_set1_epi8(0x05))));
	default: /* e8, e9 */
		first = _mm_and_si128(first, _mm_set1_epi8((char)0xfe));
		return (unsigned)_mm_movemask_epi8(
			_mm_cmpeq_epi8(first, _mm_set1_epi8((char)0xe8)));
	}
}

/* Reports places that start in the first `bytes` of `room` bytes of code. */
static bool sweep_window(struct worker *worker, const uint8_t *code, uint64_t vaddr, uint64_t bytes,
			 uint64_t room, bool first)
{
	static const uint8_t lengths[] = {
		[SWEEP_ADDRESS] = 2, [SWEEP_LOAD16] = 3, [SWEEP_CALL] = 1
	};
	enum sweep_form form = worker->list->sweep->form;
	size_t extra = lengths[form];
	uint8_t tail[64];

	for (uint64_t at = 0; at < bytes; at += REACH) {
		const uint8_t *here = code + at;
		unsigned mask;

		/* the segment's last bytes: reads must not pass its end */
		if (room - at < REACH + 8) {
			memset(tail, 0, sizeof(tail));
			memcpy(tail, here, room - at);
			here = tail;
		}
		for (mask = fitting(form, here); mask; mask &= mask - 1) {
			size_t place = at + (unsigned)__builtin_ctz(mask);

			if (place < bytes && room - place >= extra + 4 &&
			    !report(worker, code + place, vaddr + place, extra, first && !place))
				return false;
		}
	}
	return true;
}

static void *run(void *argument)
{
	struct worker *worker = argument;
	struct window_list *list = worker->list;
	const struct binary *file = list->sweep->file;
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	uint64_t vaddr, bytes, room;
	bool first;

	while (!atomic_load(&list->stop) &&
	       window_at(file, atomic_fetch_add(&list->next, 1), &vaddr, &bytes, &room, &first)) {
		const uint8_t *code = binary_at(file, vaddr, room);
		uintptr_t from = (uintptr_t)code & ~(page - 1);

		if (!code)
			continue;
		if (file->mapped)
			madvise((void *)from, (uintptr_t)code - from + bytes, MADV_WILLNEED);
		if (!sweep_window(worker, code, vaddr, bytes, room, first))
			atomic_store(&list->stop, true);
		if (file->mapped)
			madvise((void *)from, (uintptr_t)code - from + bytes, MADV_DONTNEED);
	}
	return NULL;
}

bool sweep_code(const struct probe_sweep *sweep)
{
	struct window_list list = { .sweep = sweep };
	struct worker workers[SWEEP_WORKERS];
	pthread_t threads[SWEEP_WORKERS];
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned started = 0, wanted_threads = processors < 1		    ? 1
					       : processors > SWEEP_WORKERS ? SWEEP_WORKERS
									    : (unsigned)processors;

	for (unsigned i = 0; i < wanted_threads; i++)
		workers[i] = (struct worker){ &list, i };
	/* this thread does the last worker's part, and all of it if no thread can be started */
	while (started + 1 < wanted_threads &&
	       !pthread_create(&threads[started], NULL, run, &workers[started]))
		started++;
	run(&workers[wanted_threads - 1]);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
	return !atomic_load(&list.stop);
}
