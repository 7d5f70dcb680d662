/* SPDX-License-Identifier: Apache-2.0 */
#include "called_names.h"

#include <stdlib.h>

#include "../../base/mem.h"

static struct sym_call call_of(const struct output *output, struct sym_module *const *modules,
			       uint32_t frame)
{
	const struct id_place *place = &output->ids.frames.at[frame];

	return (struct sym_call){ place->module ? modules[place->module] : NULL, place->vaddr };
}

static bool has_name(const struct sym_call *call)
{
	struct sym_frame frame;

	return call->module && sym_frames(call->module, call->vaddr - 1, &frame, 1) &&
	       frame.function;
}

void called_names_find(struct output *output, struct sym_module *const *modules)
{
	enum { UNKNOWN, NAMED, NAMELESS };
	const struct ids *ids = &output->ids;
	uint8_t *kinds = mem_zero(ids->frames.count + 1, sizeof(*kinds)); /* by frame index */
	bool *done = mem_zero(ids->frames.count + 1, sizeof(*done));

	for (size_t i = 0; i < ids->stacks.count; i++) {
		const struct id_stack *s = &ids->stacks.at[i];
		const uint32_t *frames = &ids->stack_frames.at[s->first];

		for (uint32_t k = 1; k < s->count; k++) {
			uint32_t inner = frames[k - 1] - 1, outer = frames[k] - 1;
			struct sym_call call;
			const char *name;

			if (!frames[k - 1] || !frames[k] || done[outer])
				continue;
			call = call_of(output, modules, inner);
			if (!kinds[inner])
				kinds[inner] = has_name(&call) ? NAMED : NAMELESS;
			if (kinds[inner] == NAMED)
				continue;
			done[outer] = true;
			call = call_of(output, modules, outer);
			name = sym_call_target(&call);
			if (name)
				OUTPUT_PUT(output, store_put_called, outer + 1, name);
		}
	}
	free(kinds);
	free(done);
}
