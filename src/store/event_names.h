/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_names.h: the names of events' kinds and calls.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_EVENT_NAMES_H
#define SHINY_EVENT_NAMES_H

#include "event.h"

/* Returns the function of an enum shiny_api: "malloc", "new[]". */
const char *api_name(unsigned api);

/* Returns the name of an enum event_kind: "alloc", "free", "realloc", "vptr", "map", "construct",
 * "destroy". */
const char *event_kind_name(unsigned kind);

/* Returns the event's cause: of a mapping its call, of a free without a call "reused" or
 * "released", else the allocator's function; NULL: the event has none. */
const char *event_call_name(const struct event *event);

#endif
