/* SPDX-License-Identifier: Apache-2.0 */
/*
 * notice.h: announces programs that this process starts or becomes, and children that have ended
 * (wire.h).
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

/* A published notice, to which the outcome may be added; `number` 0: there is none. */
struct si_notice {
	uint64_t number;
};

/* Announces a program about to be started from `path`, as passed to the kernel or looked up on
 * PATH. `pid` 0: not known yet. */
struct si_notice si_notice_start(enum shiny_notice_kind kind, const char *path, uint32_t pid,
				 uint32_t flags);
void si_notice_started(struct si_notice notice, uint32_t pid);
void si_notice_failed(struct si_notice notice);

/* Announces that a child has ended, with the status of wait(). */
void si_notice_ended(uint32_t pid, int status);

#endif
