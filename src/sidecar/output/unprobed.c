/* SPDX-License-Identifier: Apache-2.0 */
/* unprobed.c: see unprobed.h. */
#include "unprobed.h"

#include <stdlib.h>
#include <string.h>

#include "../../../symbolizer/probe/probe_executable.h"

bool unprobed_probe(const struct rings *rings, struct output *output)
{
	bool any = false;

	for (size_t i = 0; i < rings->all.count; i++) {
		const struct ring_file *ring = rings->all.at[i];
		struct probe_options options = { 0 };
		struct probe probe;
		struct shiny_err *err;
		char *note;

		if (ring->attach != SHINY_ATTACH_PARTITION || strstr(ring->attach_text, "Oilpan"))
			continue;
		err = probe_open(ring->executable, &options, &probe);
		/* removed or unreadable: no note, as nothing is certain */
		if (err) {
			shiny_err_free(err);
			continue;
		}
		if (!probe.cached && probe.cache_path && probe.file->shape != SHINY_PROBE_NONE) {
			note = mem_format("%s: the objects of its garbage collector (Oilpan) were "
					  "not recorded, since it had not been probed. It is "
					  "now: the next recording has them",
					  ring->executable);
			OUTPUT_PUT(output, store_put_note, 0, note);
			free(note);
			any = true;
		}
		probe_close(&probe);
	}
	return any;
}
