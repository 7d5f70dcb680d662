/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jump_table.c: redirects functions that are called through checked pointers.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: pages near the executable (patcher.c).
 * Threads:   one.
 *
 * The problem. Chrome as Google builds it (and headless shells for servers, and others built that
 * way) has clang's control-flow integrity: a check before each call through a pointer traps if the
 * pointer is not an entry of one jump table inside the executable. A function of ours in a dispatch
 * table would end the program at its first malloc.
 *
 * The facts, as read from 107 to 153. An entry of such a table is 8 bytes, 8-aligned: a jump to the
 * function and three int3. The function's own name means its body; only pointers to it mean the
 * entry. Since about 150 the linker puts the body of the table's last function in place of its
 * entry.
 *
 * The approach. The pointers stay, and so do the checks. The entry is patched (patcher.c), and our
 * function calls the entry's old target. No probe has seen the file, so the recipe is computed
 * here: a jump has a fixed one, and a body in place must begin with frame set-up and the like,
 * which runs anywhere (si_decode_prologue; in 153 it continues in another table at once).
 *
 * Rejected: turning the checks off (they are inlined in thousands of places).
 */
#include "jump_table.h"

#include "entry_code.h"
#include "patcher.h"

enum { ENTRY = 8, NEAR_JUMP = 5, LOOKED_AT = 24 };

static bool describe(const struct si_image *image, uintptr_t at, struct shiny_patch_recipe *recipe)
{
	const struct si_segment *s = si_segment_of(image, at, LOOKED_AT);
	const uint8_t *code = (const uint8_t *)at;
	size_t distance_at;
	int32_t distance;
	uintptr_t target;

	*recipe = (struct shiny_patch_recipe){ .vaddr = at - image->bias };
	if (!s || !s->executable)
		return false;
	target = si_decode_jump(code, at);
	if (target) {
		s = si_segment_of(image, target, 1);
		if (!s || !s->executable)
			return false;
		recipe->displaced = ENTRY;
		recipe->code[0] = 0xe9;
		recipe->code_bytes = NEAR_JUMP;
		recipe->fixups[recipe->fixup_count++] = (struct shiny_patch_fixup){
			.target = target - image->bias, .at = 1, .next = NEAR_JUMP
		};
	} else {
		recipe->displaced = (uint8_t)si_decode_prologue(code, LOOKED_AT, SHINY_PATCH_JUMP,
								&distance_at);
		recipe->code_bytes = recipe->displaced;
		__builtin_memcpy(recipe->code, code, recipe->displaced);
		if (distance_at) {
			__builtin_memcpy(&distance, code + distance_at, sizeof(distance));
			recipe->fixups[recipe->fixup_count++] =
				(struct shiny_patch_fixup){ .target = at - image->bias +
								      distance_at + 4 +
								      (uint64_t)(int64_t)distance,
							    .at = (uint8_t)distance_at,
							    .next = (uint8_t)(distance_at + 4) };
		}
	}
	recipe->expected_bytes = recipe->displaced;
	__builtin_memcpy(recipe->expected, code, recipe->displaced);
	return recipe->displaced != 0;
}

bool si_jumps_redirect(const struct si_image *image, struct si_redirect *r, unsigned count,
		       struct si_text *t)
{
	struct shiny_patch_recipe recipe;
	static struct si_patches patches;
	uintptr_t low = UINTPTR_MAX, high = 0;

	for (unsigned i = 0; i < image->segments; i++) {
		low = image->segment[i].start < low ? image->segment[i].start : low;
		high = image->segment[i].end > high ? image->segment[i].end : high;
	}
	if (!si_patch_begin(&patches, image->bias, low, high, count, t))
		return false;
	for (unsigned i = 0; i < count; i++) {
		bool known = describe(image, r[i].at, &recipe);
		void *below = known ? si_patch_add(&patches, &recipe, (void *)r[i].to, t) : NULL;

		r[i].below = (uintptr_t)below;
		if (below)
			continue;
		si_text_add(t, known ? ": function " : "in an unknown way begins function ");
		si_text_hex(t, r[i].at - image->bias);
		si_patch_abandon(&patches);
		return false;
	}
	return si_patch_commit(&patches, t);
}
