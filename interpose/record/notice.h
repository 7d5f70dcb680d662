/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.h: this process tells of another program that it starts, or becomes, and of children that
 * have ended (wire.h).
 *
 * Runs:      inside: around exec, posix_spawn and wait; also in a vfork child, and in a child that
 *            has no slot.
 * Signals:   safe.
 * Allocates: nothing.
 * Threads:   any.
 */
#ifndef SI_NOTICE_H
#define SI_NOTICE_H

#include <shiny/wire/wire.h>

#include "../core/base.h"

/* A notice that its outcome may be added to; `number` 0: nobody reads it. */
struct si_notice {
	uint64_t number;
};

/* Of a program about to be started from `path`, as it is given to the kernel or looked up on PATH.
 * `pid` 0: not known yet. */
struct si_notice si_notice_start(enum shiny_notice_kind kind, const char *path, uint32_t pid,
				 uint32_t flags);
void si_notice_started(struct si_notice notice, uint32_t pid);
void si_notice_failed(struct si_notice notice);

/* A child has ended with `status`, as wait() says it. */
void si_notice_ended(uint32_t pid, int status);

#endif
