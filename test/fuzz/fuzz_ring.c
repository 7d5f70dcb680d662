/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_ring.c: an honest ring, then the same with random words changed, collected. It must end, and
 * must not crash; what the session says does not matter. Fixed seed, so a failure comes again:
 * fuzz_ring [first round [rounds]].
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "../../src/sidecar/sidecar.h"
#include "../unit/ring_writer.h"
#include "../lib/random.h"

static char directory[64], session_path[96], ring_path[96];

static struct shiny_header *honest(void)
{
	struct shiny_header *h = ring_make(ring_path, 8, 8);
	struct writer w[3];
	uint64_t frames[4] = { 0x500010, 0x500020, 0x500030, 0x900000 };

	if (!h)
		exit(1);
	process_make(h, 0, -1, 0);
	process_make(h, 1, 0, 2000);
	w[0] = writer_make(h, 0, 0);
	w[1] = writer_make(h, 1, 0);
	w[2] = writer_make(h, 2, 1);
	put_module(&w[0], 1, 0x500000, 0x600000, "/nowhere/synthetic");
	for (unsigned i = 0; i < 3; i++)
		put_stack(&w[i], 2, 1 + i, frames, 2 + i % 2);
	for (uint64_t n = 3; n < 9000; n++) {
		unsigned i = (unsigned)(next_random() % (n < 2000 ? 2 : 3));
		uint64_t address = 0x10000 + next_random() % 512 * 16;

		switch (next_random() % 12) {
		case 0:
			put_event(&w[i], n, SHINY_REC_REALLOC_BEGIN, address, 0, 0,
				  SHINY_API_REALLOC);
			put_event(&w[i], n, SHINY_REC_REALLOC_DONE, address ^ 16, n, 1 + i,
				  SHINY_API_REALLOC);
			break;
		case 1:
			put_vptr(&w[i], address, 0x510000 + n % 7 * 8, (unsigned)(n % 4));
			break;
		case 2:
		case 3:
			put_event(&w[i], n, SHINY_REC_FREE, address, 0, 0, SHINY_API_FREE);
			break;
		case 4:
			put_pool(&w[i], n,
				 &(struct shiny_pool){ .pool = address % 256 + 16,
						       .parent = n % 256 & -16U,
						       .changes = n % 4 },
				 "a pool", 6);
			break;
		case 5:
			put_event(&w[i], n, SHINY_REC_POOL, address % 256 + 16, 0, 0,
				  SHINY_API_POOL);
			put_event(&w[i], n, SHINY_REC_ALLOC, address, n, 1 + i, SHINY_API_POOL);
			break;
		case 6:
			put_event(&w[i], n, SHINY_REC_POOL_ENDS, address % 256 + 16, n % 8, 1 + i,
				  SHINY_API_POOL);
			put_event(&w[i], n, SHINY_REC_FREE, address ^ 16, 0, 0, SHINY_API_POOL);
			break;
		case 7:
			put_event(&w[i], n, SHINY_REC_REALLOC_BEGIN, address, 0, 0, SHINY_API_POOL);
			put_event(&w[i], n, SHINY_REC_REALLOC_DONE, address ^ 16, n, 1 + i,
				  SHINY_API_POOL);
			break;
		default:
			put_event(&w[i], n, SHINY_REC_ALLOC, address, n, 1 + i, SHINY_API_NEW);
		}
	}
	return h;
}

/* Changes a few words: in records, chunk headers, states, slots, rarely the header. */
static void damage(struct shiny_header *h)
{
	uint64_t bytes = h->ring_bytes, changes = 1 + next_random() % 40, smalls_at = h->smalls_at,
		 chunks_at = h->chunks_at, states_at = h->states_at;

	for (uint64_t n = 0; n < changes; n++) {
		uint64_t at, *word;

		switch (next_random() % 17) {
		case 16:
			at = offsetof(struct shiny_header, counters) +
			     next_random() % SHINY_COUNTERS * 8;
			if (next_random() % 2)
				at = 4096 + next_random() % WRITER_PROCESSES *
						    sizeof(struct shiny_process) +
				     offsetof(struct shiny_process, counters) +
				     next_random() % SHINY_COUNTERS * 8;
			break;
		case 0:
			at = next_random() % 4096;
			break;
		case 1:
			at = states_at + next_random() % 16 * 8;
			break;
		case 2:
			at = chunks_at + next_random() % 8 * SHINY_CHUNK_BYTES + next_random() % 64;
			break;
		case 5:
			at = smalls_at + next_random() % 8 * SHINY_SMALL_BYTES + next_random() % 64;
			break;
		case 6:
		case 7:
			at = smalls_at + next_random() % 8 * SHINY_SMALL_BYTES +
			     next_random() % SHINY_SMALL_BYTES;
			break;
		case 3:
			at = 4096 + next_random() % 512;
			break;
		case 4:
			at = 4096 + WRITER_PROCESSES * sizeof(struct shiny_process) +
			     next_random() % 256;
			break;
		default:
			at = chunks_at + next_random() % 3 * SHINY_CHUNK_BYTES +
			     next_random() % SHINY_CHUNK_BYTES;
		}
		word = (uint64_t *)((char *)h + at / 8 * 8);
		if ((char *)word + 8 > (char *)h + bytes)
			continue;
		switch (next_random() % 4) {
		case 0:
			*word ^= UINT64_C(1) << next_random() % 64;
			break;
		case 1:
			*word = next_random();
			break;
		case 2:
			*word = 0;
			break;
		default:
			*word += next_random() % 9 - 4;
		}
	}
}

int main(int argc, char **argv)
{
	unsigned long first = argc > 1 ? strtoul(argv[1], NULL, 10) : 0,
		      rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 40, accepted = 0;

	snprintf(directory, sizeof(directory), "/tmp/shiny-fuzz-%d", (int)getpid());
	snprintf(session_path, sizeof(session_path), "%s.shiny", directory);
	snprintf(ring_path, sizeof(ring_path), "%s/ring.1.0", directory);
	for (unsigned long round = first; round < first + rounds; round++) {
		struct sidecar_options options = { .directory = directory,
						   .out = session_path,
						   .force = true,
						   .with_events = true,
						   .leftover = true,
						   .launcher_fd = -1,
						   .lock_fd = -1,
						   .guests_fd = -1 };
		struct sidecar_summary summary;
		struct shiny_header *h;
		struct shiny_err *err;
		uint64_t bytes;

		alarm(300); /* a hang is a failure */
		random_state = 0x9e3779b97f4a7c15 + round;
		mkdir(directory, 0700);
		h = honest();
		bytes = h->ring_bytes;
		if (round) /* the first one is whole, and must be accepted without a loss */
			damage(h);
		munmap(h, bytes);
		err = sidecar_run(&options, &summary);
		if (!round && (err || summary.processes != 2 || summary.events < 9000)) {
			printf("not ok honest: %s\n",
			       err ? err->message : "not all of it was read");
			return 1;
		}
		accepted += !err;
		shiny_err_free(err);
		unlink(ring_path);
	}
	unlink(session_path);
	snprintf(ring_path, sizeof(ring_path), "%s/%s", directory, SHINY_SIDECAR_LOCK);
	unlink(ring_path);
	rmdir(directory);
	if (accepted * 4 < rounds) {
		printf("not ok fuzz: only %lu of %lu rings got as far as being read\n", accepted,
		       rounds);
		return 1;
	}
	printf("ok fuzz\n# %lu of %lu rings accepted\n", accepted, rounds);
	return 0;
}
