/* SPDX-License-Identifier: Apache-2.0 */
/* ring_file.c: see ring_file.h. */
#include "ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <shiny/wire/sample_weight.h>

#include "../../base/mem.h"

#define NOT_OURS "give the session directory of a recorded program"

static void copy_text(char *to, const char *from, size_t room)
{
	memcpy(to, from, room);
	to[room - 1] = '\0';
}

/* True when [at, at + count * each) lies in the file behind the header, aligned. */
static bool lies_inside(uint64_t at, uint64_t count, uint64_t each, uint64_t align, uint64_t bytes)
{
	return at >= sizeof(struct shiny_header) && at % align == 0 && at <= bytes && count &&
	       count <= (bytes - at) / each;
}

#define SAME_VERSION "use the shinyctl that was installed with the libshiny.so that recorded it"

static struct shiny_err *not_a_ring(const struct ring_file *a, uint64_t magic)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "%s: not a ring: it starts with %016" PRIx64
					  " where a ring has %016" PRIx64,
					  a->path, magic, SHINY_MAGIC),
				NOT_OURS);
}

/* Checks that it is a ring of a known format. */
static struct shiny_err *check_format(struct ring_file *a)
{
	const volatile struct shiny_header *h = a->header;
	uint64_t magic = h->magic, layout = h->layout, ring_bytes = h->ring_bytes;
	uint32_t version = h->version, header_bytes = h->header_bytes;
	uint32_t chunk_bytes = h->chunk_bytes, small_bytes = h->small_bytes, clock = h->clock;

	if (magic != SHINY_MAGIC)
		return not_a_ring(a, magic);
	if (version != SHINY_VERSION)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "%s: a ring of format version %" PRIu32
						  "; this shinyctl reads version %u",
						  a->path, version, SHINY_VERSION),
					SAME_VERSION);
	if (layout != shiny_layout() || header_bytes != sizeof(struct shiny_header))
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "%s: the ring's layout is %016" PRIx64 " (header %" PRIu32
				  " bytes); this shinyctl reads %016" PRIx64 " (%zu bytes)",
				  a->path, layout, header_bytes, shiny_layout(),
				  sizeof(struct shiny_header)),
			SAME_VERSION);
	if (ring_bytes != a->bytes)
		return shiny_err(
			SHINY_ERR_OTHER,
			"%s: truncated or grown: the file has %zu bytes, its header says %" PRIu64,
			a->path, a->bytes, ring_bytes);
	if (chunk_bytes != SHINY_CHUNK_BYTES || small_bytes != SHINY_SMALL_BYTES)
		return shiny_err(SHINY_ERR_OTHER,
				 "%s: chunks of %" PRIu32 " and %" PRIu32
				 " bytes; this shinyctl reads %d and %d",
				 a->path, small_bytes, chunk_bytes, SHINY_SMALL_BYTES,
				 SHINY_CHUNK_BYTES);
	if (clock != SHINY_CLOCK_TSC && clock != SHINY_CLOCK_MONOTONIC)
		return shiny_err(SHINY_ERR_OTHER,
				 "%s: unknown clock %" PRIu32 "; this shinyctl knows 0 and 1",
				 a->path, clock);
	a->clock = clock;
	return NULL;
}

/* Checks that its tables and chunks lie in the file. */
static struct shiny_err *check_tables(struct ring_file *a)
{
	const volatile struct shiny_header *h = a->header;
	uint64_t processes_at = h->processes_at, threads_at = h->threads_at;
	uint64_t states_at = h->states_at, smalls_at = h->smalls_at;
	uint64_t notices_at = h->notices_at, chunks_at = h->chunks_at;
	uint32_t processes = h->processes, processes_ready = h->processes_ready;
	uint32_t threads = h->threads, threads_ready = h->threads_ready;
	uint32_t chunks = h->chunks, smalls = h->smalls;
	char *base = (char *)a->header;

	if (processes > SHINY_PROCESSES_MAX || threads > SHINY_THREADS_MAX || smalls > chunks ||
	    chunks > INT32_MAX ||
	    !lies_inside(notices_at, SHINY_NOTICES, sizeof(struct shiny_notice), 64, a->bytes) ||
	    !lies_inside(processes_at, processes, sizeof(struct shiny_process), 64, a->bytes) ||
	    !lies_inside(threads_at, threads, sizeof(struct shiny_thread), 64, a->bytes) ||
	    !lies_inside(states_at, chunks, sizeof(uint64_t), 8, a->bytes) ||
	    (smalls && !lies_inside(smalls_at, smalls, SHINY_SMALL_BYTES, 4096, a->bytes)) ||
	    (chunks > smalls &&
	     !lies_inside(chunks_at, chunks - smalls, SHINY_CHUNK_BYTES, 4096, a->bytes)))
		return shiny_err(SHINY_ERR_OTHER,
				 "%s: damaged header: %" PRIu32 " processes, %" PRIu32
				 " threads, %" PRIu32 " chunks do not fit its %zu bytes",
				 a->path, processes, threads, chunks, a->bytes);
	a->notices = (struct shiny_notice *)(base + notices_at);
	a->processes = (struct shiny_process *)(base + processes_at);
	a->threads = (struct shiny_thread *)(base + threads_at);
	a->chunks = (struct shiny_chunks){ .states = (uint64_t *)(base + states_at),
					   .small = base + smalls_at,
					   .large = base + chunks_at,
					   .smalls = smalls,
					   .count = chunks };
	a->process_count = processes;
	a->thread_count = threads;
	/*
	 * Only the sidecar changes these from here on; they are larger if an earlier sidecar has
	 * grown them.
	 */
	a->processes_ready = processes_ready < processes ? processes_ready : processes;
	a->threads_ready = threads_ready < threads ? threads_ready : threads;
	return NULL;
}

static void copy_facts(struct ring_file *a)
{
	const volatile struct shiny_header *h = a->header;

	a->start_ticks = h->start_ticks;
	a->start_realtime = h->start_realtime;
	a->start_boottime = h->start_boottime;
	a->ticks_per_second = h->ticks_per_second;
	a->self_at = h->self_at;
	a->pid = h->pid;
	a->parent_pid = a->processes[0].parent_pid;
	a->pid_namespace = h->pid_namespace;
	a->sample = h->sample;
	if (a->sample > SHINY_SAMPLE_MOST)
		a->sample = SHINY_SAMPLE_MOST;
	a->attach = h->attach;
	a->depth = h->depth;
	memcpy(a->boot_id, a->header->boot_id, sizeof(a->boot_id));
	copy_text(a->started_as, a->header->started_as, sizeof(a->started_as));
	copy_text(a->executable, a->header->executable, sizeof(a->executable));
	copy_text(a->command, a->header->command, sizeof(a->command));
	copy_text(a->attach_text, a->header->attach_text, sizeof(a->attach_text));
	copy_text(a->notes, a->header->notes, sizeof(a->notes));
}

static struct shiny_err *check(struct ring_file *a)
{
	struct shiny_err *err = check_format(a);

	if (!err)
		err = check_tables(a);
	if (!err)
		copy_facts(a);
	return err;
}

static struct shiny_err *open_mapped(struct ring_file *a, bool patient, bool *being_made)
{
	uint64_t magic;
	struct stat st;
	void *map;

	a->fd = open(a->path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (a->fd < 0)
		return shiny_err_os(errno, "cannot open the ring %s", a->path);
	if (fstat(a->fd, &st))
		return shiny_err_os(errno, "cannot look at the ring %s", a->path);
	if (!S_ISREG(st.st_mode))
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "%s: not a ring: not a regular file", a->path),
					NOT_OURS);
	if ((size_t)st.st_size < sizeof(struct shiny_header)) {
		if (patient) {
			*being_made = true;
			return NULL;
		}
		return shiny_err(SHINY_ERR_OTHER,
				 "%s: truncated: %zu bytes, a ring's header alone has %zu", a->path,
				 (size_t)st.st_size, sizeof(struct shiny_header));
	}
	/* without a mapping, whose end every processor takes part in: there may be many of them */
	if (pread(a->fd, &magic, sizeof(magic), 0) == sizeof(magic) && magic &&
	    magic != SHINY_MAGIC)
		return not_a_ring(a, magic);
	a->device = st.st_dev;
	a->inode = st.st_ino;
	map = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	if (map == MAP_FAILED)
		return shiny_err_os(errno, "cannot map the ring %s", a->path);
	a->header = map;
	a->bytes = (size_t)st.st_size;
	if (__atomic_load_n(&a->header->ready, __ATOMIC_ACQUIRE) != 1) { /* [ready] */
		struct shiny_err *err;

		/* its program waits for a probe (interpose/boot/boot.c) */
		if (patient || ring_held(a)) {
			*being_made = true;
			return NULL;
		}
		err = check(a);
		return err ? err
			   : shiny_err(SHINY_ERR_OTHER, "%s: its maker never finished it", a->path);
	}
	/* finished after fstat */
	if (patient && a->header->ring_bytes != a->bytes) {
		*being_made = true;
		return NULL;
	}
	return check(a);
}

struct shiny_err *ring_open(const char *path, bool patient, struct ring_file **out)
{
	struct ring_file *a = mem_zero(1, sizeof(*a));
	bool being_made = false;
	struct shiny_err *err;

	a->path = mem_text(path);
	err = open_mapped(a, patient, &being_made);
	if (err || being_made) {
		ring_close(a);
		if (!err)
			*out = NULL;
		return err;
	}
	a->streams = mem_zero(a->thread_count, sizeof(struct stream *));
	a->slots = mem_zero(a->process_count, sizeof(struct process *));
	a->owners = mem_zero(a->chunks.count, sizeof(struct stream *));
	a->whole = mem_zero(a->chunks.count, 1);
	*out = a;
	return NULL;
}

bool ring_held(const struct ring_file *ring)
{
	if (flock(ring->fd, LOCK_EX | LOCK_NB))
		return true;
	flock(ring->fd, LOCK_UN);
	return false;
}

bool ring_torn(const struct ring_file *ring)
{
	struct stat st;

	return fstat(ring->fd, &st) == 0 && (size_t)st.st_size < ring->bytes;
}

uint64_t ring_most_counted(const struct ring_file *ring)
{
	enum { DAYS_3_BITS = 48 };
	const uint64_t second = UINT64_C(1000000000);
	struct timespec time;
	uint64_t now, most = UINT64_C(1) << DAYS_3_BITS;

	if (ring->foreign || clock_gettime(CLOCK_BOOTTIME, &time) != 0)
		return most;
	now = (uint64_t)time.tv_sec * second + (uint64_t)time.tv_nsec + second;
	if (ring->start_boottime > now || now - ring->start_boottime > most)
		return most;
	return now - ring->start_boottime;
}

void ring_take_counters(struct ring_file *ring, const uint64_t shared[SHINY_COUNTERS],
			uint64_t kept[SHINY_COUNTERS])
{
	uint64_t most = ring_most_counted(ring);

	for (unsigned i = 0; i < SHINY_COUNTERS; i++) {
		uint64_t count = __atomic_load_n(&shared[i], __ATOMIC_RELAXED);

		if (count < kept[i] || count > most)
			ring->lies = true;
		else
			kept[i] = count;
	}
}

void ring_read_counters(struct ring_file *ring)
{
	ring_take_counters(ring, ring->header->counters, ring->counters);
}

uint32_t ring_processes_used(const struct ring_file *ring)
{
	uint32_t used = __atomic_load_n(&ring->header->processes_used, __ATOMIC_ACQUIRE);

	return used < ring->processes_ready ? used : ring->processes_ready;
}

uint32_t ring_threads_used(const struct ring_file *ring)
{
	uint32_t used = __atomic_load_n(&ring->header->threads_used, __ATOMIC_ACQUIRE);

	return used < ring->threads_ready ? used : ring->threads_ready;
}

void ring_release(struct ring_file *ring)
{
	if (ring->header)
		munmap(ring->header, ring->bytes);
	if (ring->fd >= 0)
		close(ring->fd);
	ring->header = NULL;
	ring->fd = -1;
}

void ring_close(struct ring_file *ring)
{
	if (!ring)
		return;
	ring_release(ring);
	free(ring->path);
	free(ring->streams);
	free(ring->slots);
	free(ring->owners);
	free(ring->whole);
	free(ring);
}
