/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jump_table.h: other functions in place of those that control-flow integrity lets a program call.
 *
 * Runs:      inside, in the constructor.
 * Signals:   –
 * Allocates: pages near the executable.
 * Threads:   before there are others.
 */
#ifndef SI_JUMP_TABLE_H
#define SI_JUMP_TABLE_H

#include "../core/base.h"
#include "image.h"

struct si_redirect {
	uintptr_t at; /* what pointers to the function hold */
	uintptr_t to; /* ours */
	uintptr_t below; /* out: call this for the function that was there */
};

enum { SI_REDIRECTS = 32 };

/*
 * Whoever calls r[i].at calls r[i].to from now on. All of them or none; false: nothing was changed,
 * and the reason is appended to `t`.
 */
bool si_jumps_redirect(const struct si_image *image, struct si_redirect *r, unsigned count,
		       struct si_text *t);

#endif
