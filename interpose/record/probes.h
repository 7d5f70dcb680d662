/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probes.h: the probes of OpenTelemetry's memory profiles, for eBPF profilers, bpftrace, perf and
 * gdb:
 *
 *   otel_memory:alloc(ptr, size, weighted_bytes)   a block of the sample; the bytes that it stands
 *                                                  for
 *   otel_memory:free(ptr)                          one of them is about to end
 *
 * Runs: inside. Signals: safe. Allocates: nothing. Threads: any.
 *
 * They are those of SHINY_SAMPLE, whether recording is on or not. A probe is a nop; the semaphore,
 * which the listener raises, spares the arguments where nobody listens. Objects of pools are no
 * blocks, and in none of them.
 */
#ifndef SI_PROBES_H
#define SI_PROBES_H

#include <stdint.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "../core/base.h"

/* The names are those of <sys/sdt.h>. */
SI_INTERNAL unsigned short otel_memory_alloc_semaphore, otel_memory_free_semaphore;

static inline void si_probe_alloc(uintptr_t block, uint64_t size, uint64_t weighted_bytes)
{
	if (SI_UNLIKELY(__atomic_load_n(&otel_memory_alloc_semaphore, __ATOMIC_RELAXED)))
		STAP_PROBE3(otel_memory, alloc, block, size, weighted_bytes);
}

static inline void si_probe_free(uintptr_t block)
{
	if (SI_UNLIKELY(__atomic_load_n(&otel_memory_free_semaphore, __ATOMIC_RELAXED)))
		STAP_PROBE1(otel_memory, free, block);
}

#endif
