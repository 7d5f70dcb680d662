/* SPDX-License-Identifier: Apache-2.0 */
/*
 * jump_table.h: replaces functions that control-flow integrity lets a program call.
 *
 * Runs: inside, in the constructor. Signals: – Allocates: pages near the executable. Threads:
 * before there are others.
 */
#ifndef SI_JUMP_TABLE_H
#define SI_JUMP_TABLE_H

#include "../core/base.h"
#include "image.h"

struct si_redirect {
	uintptr_t at; /* the value of pointers to the function */
	uintptr_t to; /* our function */
	uintptr_t below; /* out: calls the original function */
};

enum { SI_REDIRECTS = 32 };

/*
 * Redirects calls of r[i].at to r[i].to, all of them or none. False: nothing was changed, and the
 * reason is appended to `t`.
 */
bool si_jumps_redirect(const struct si_image *image, struct si_redirect *r, unsigned count,
		       struct si_text *t);

#endif
