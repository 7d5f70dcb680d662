/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_pace.c: the sidecar yields as long as there is time, in rings or in the spill; never where a
 * ring would be full before its chunks are copied.
 */
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../src/sidecar/intake/pace.h"
#include "../../src/sidecar/ring/spill.h"
#include "check.h"

enum { SECOND = 1000 * 1000 * 1000, RING_CHUNKS = 1024 }; /* 64 MiB */

static char directory[64], path[96];
static int held; /* some program maps the ring */

/* Is it low, with a ring that would be full in `left` ms, and room for `most` bytes beside it? */
static bool yields(bool low, uint64_t left, uint64_t most)
{
	struct rings *rings = mem_zero(1, sizeof(*rings));
	struct shiny_header header = { 0 };
	struct ring_file ring = { .fd = open(path, O_RDWR | O_CLOEXEC),
				  .header = &header,
				  .present = { 0, RING_CHUNKS },
				  .first_look = 1,
				  .measured = SECOND,
				  .speed = (uint64_t)RING_CHUNKS * SHINY_CHUNK_BYTES / left };
	bool is_low;

	rings->spill = spill_open(directory, most);
	rings->priority.low = low;
	*vec_push(&rings->present) = &ring;
	pace_follow(rings);
	is_low = rings->priority.low;
	spill_close(rings->spill, true);
	free(rings->present.at);
	free(rings);
	close(ring.fd);
	return is_low;
}

int main(void)
{
	const uint64_t room = UINT64_C(1) << 30;

	snprintf(directory, sizeof(directory), "/tmp/test_pace.%d", (int)getpid());
	snprintf(path, sizeof(path), "%s/ring", directory);
	if (mkdir(directory, 0700) || (held = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600)) < 0 ||
	    flock(held, LOCK_SH))
		return 1;
	check("time in the ring", yields(false, 1100, 0), "it does not yield");
	check("no time", !yields(false, 700, 0), "it yields");
	check("time in the spill", yields(false, 700, room), "it does not yield");
	check("it stays low with the spill", yields(true, 150, room), "it does not yield");
	check("it does not begin to with little", !yields(false, 150, room), "it yields");
	check("no time to copy", !yields(true, 90, room), "it yields");
	check("a spill without room", !yields(true, 300, SPILL_FILE), "it yields");
	unlink(path);
	rmdir(directory);
	return failures != 0;
}
