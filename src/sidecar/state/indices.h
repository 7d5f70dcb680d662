/* SPDX-License-Identifier: Apache-2.0 */
/*
 * indices.h: maps a process's own indices of classes or tags to ids of the session.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one.
 */
#ifndef SHINY_INDICES_H
#define SHINY_INDICES_H

#include <stdbool.h>

#include <shiny/wire/wire.h>

#include "../../base/mem.h"

enum { INDICES_MAX = 1 << SHINY_SIZE_BITS };

struct indices { /* zeroed: none */
	VEC(uint32_t) ids; /* 0: undefined */
};

/* Sets an id; false: the index is out of range. */
static inline bool indices_set(struct indices *indices, uint32_t index, uint32_t id)
{
	if (index >= INDICES_MAX)
		return false;
	while (indices->ids.count <= index)
		*vec_push(&indices->ids) = 0;
	indices->ids.at[index] = id;
	return true;
}

static inline uint32_t indices_get(const struct indices *indices, uint64_t index)
{
	return index < indices->ids.count ? indices->ids.at[index] : 0;
}

/* Copies the parent's definitions to a forked child. */
static inline void indices_clone(struct indices *indices, const struct indices *parent)
{
	for (size_t i = 0; i < parent->ids.count; i++)
		indices_set(indices, (uint32_t)i, parent->ids.at[i]);
}

#endif
