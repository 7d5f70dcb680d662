/* SPDX-License-Identifier: Apache-2.0 */
/*
 * event_names.h: the words for what an event is, and for the call that made it.
 *
 * Runs: CLI. Signals: no. Allocates: nothing. Threads: any.
 */
#ifndef SHINY_EVENT_NAMES_H
#define SHINY_EVENT_NAMES_H

#include "event.h"

/* The functions of an enum shiny_api: "malloc", "new[]". */
const char *api_name(unsigned api);

/* Of an enum event_kind: "alloc", "free", "realloc", "vptr", "map", "construct", "destroy". */
const char *event_kind_name(unsigned kind);

/* What made it: of a mapping its call, of a free that no call made "reused" or "released", else the
 * function of the allocator; NULL where the event has none. */
const char *event_call_name(const struct event *event);

#endif
