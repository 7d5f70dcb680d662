/* SPDX-License-Identifier: Apache-2.0 */
#include "event_names.h"

#include <stddef.h>

const char *api_name(unsigned api)
{
	static const char *const names[] = {
#define SHINY_API(name, spelling, family) spelling,
#include <shiny/wire/api.def>
#undef SHINY_API
	};

	return api < sizeof(names) / sizeof(*names) ? names[api] : "unknown";
}

const char *event_kind_name(unsigned kind)
{
	static const char *const names[] = {
		[EVENT_ALLOC] = "alloc",	 [EVENT_FREE] = "free",
		[EVENT_REALLOC] = "realloc",	 [EVENT_VPTR] = "vptr",
		[EVENT_MAP] = "map",		 [EVENT_CONSTRUCT] = "construct",
		[EVENT_DESTROY] = "destroy",
	};

	return kind < sizeof(names) / sizeof(*names) && names[kind] ? names[kind] : "unknown";
}

static const char *map_name(unsigned call)
{
	static const char *const names[] = {
#define SHINY_MAP(name, spelling) spelling,
#include <shiny/wire/map.def>
#undef SHINY_MAP
	};

	return call < sizeof(names) / sizeof(*names) ? names[call] : "unknown";
}

const char *event_call_name(const struct event *event)
{
	switch (event->kind) {
	case EVENT_FREE:
		if (event->api == EVENT_END_REUSED)
			return "reused";
		if (event->api == EVENT_END_RELEASED)
			return "released";
		return api_name(event->api);
	case EVENT_ALLOC:
	case EVENT_REALLOC:
		return api_name(event->api & EVENT_API);
	case EVENT_MAP:
		return map_name(event->api);
	default:
		return NULL;
	}
}
