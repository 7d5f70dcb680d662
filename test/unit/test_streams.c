/* SPDX-License-Identifier: Apache-2.0 */
/* test_streams.c: the four streams of a session that is written down, counted by role: with and
 * without constructors recorded. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/replay/streams.h"
#include "session_writer.h"

static char path[64];

static void put(struct store *s, uint64_t time, uint32_t process, uint8_t kind, uint64_t address,
		uint64_t size, uint64_t old, uint32_t stack, uint32_t vtable, uint8_t api)
{
	put_event(s, (struct event){ .time = time,
				     .address = address,
				     .size = size,
				     .old_address = old,
				     .process = process,
				     .thread = process,
				     .stack = stack,
				     .vtable = vtable,
				     .kind = kind,
				     .api = api });
}

enum { PLAIN = 1, BY_CONSTRUCTOR = 2, GUESSED = 3 }; /* stacks, and types */

static void put_known(struct store *s, uint32_t id, const char *name, const char *rule,
		      const char *confidence)
{
	put_type(s, (struct store_type){
			    .id = id, .name = name, .rule = rule, .confidence = confidence });
	for (uint32_t process = 1; process <= 3; process++)
		must(store_put_stat(s, &(struct store_stat){
					       .process = process, .stack = id, .type = id }));
}

static void count(bool constructors)
{
	static const struct {
		const char *name, *role;
		uint64_t forked;
	} all[] = { { "prog", "renderer", 0 }, { "prog", "renderer", 500 }, { "tool", "", 0 } };
	struct store *s = session_begin(path, 1000);
	struct filter filter;
	struct streams streams;

	for (uint32_t i = 0; i < 3; i++)
		put_process(s, (struct store_process){ .id = i + 1,
						       .parent = i == 1 ? 1 : 0,
						       .name = all[i].name,
						       .role = all[i].role,
						       .start = all[i].forked,
						       .forked = all[i].forked });
	put_program(s);
	put_vtable(s, 9);
	for (uint32_t stack = PLAIN; stack <= GUESSED; stack++)
		put_site(s, stack, "make");
	put_known(s, PLAIN, "char", "variable", "exact");
	put_known(s, BY_CONSTRUCTOR, "Widget", "constructor", "high");
	put_known(s, GUESSED, "Perhaps", "learned", "low");
	if (constructors)
		must(store_put_class(s, &(struct store_class){ .id = 1,
							       .name = "Widget",
							       .constructors = 1,
							       .destructors = 1 }));
	put(s, 100, 1, EVENT_ALLOC, 0x1000, 10, 0, PLAIN, 0, SHINY_API_MALLOC);
	/* a deallocation, an allocation */
	put(s, 110, 1, EVENT_REALLOC, 0x1100, 20, 0x1000, PLAIN, 0, SHINY_API_REALLOC);
	/* an object */
	put(s, 120, 1, EVENT_ALLOC, 0x2000, 32, 0, BY_CONSTRUCTOR, 0, SHINY_API_NEW);
	/* nobody knows */
	put(s, 130, 1, EVENT_ALLOC, 0x3000, 32, 0, GUESSED, 0, SHINY_API_NEW);
	put(s, 140, 1, EVENT_ALLOC, 0x4000, 32, 0, PLAIN, 0, SHINY_API_NEW);
	/* an object after all */
	put(s, 150, 1, EVENT_VPTR, 0x4000, 0, 0, 0, 9, 0);
	put(s, 160, 1, EVENT_FREE, 0x4000, 0, 0, 0, 0, SHINY_API_DELETE);
	put(s, 170, 1, EVENT_ALLOC, 0x5000, 16, 0, PLAIN, 0, SHINY_API_COLLECTED);
	put(s, 175, 1, EVENT_ALLOC, 0x5100, 16, 0, PLAIN, 0, SHINY_API_COLLECTED);
	/* finalized */
	put(s, 180, 1, EVENT_FREE, 0x5000, 0, 0, 0, 0, SHINY_API_FREE);
	/* swept */
	put(s, 190, 1, EVENT_FREE, 0x5100, 0, 0, 0, 0, EVENT_END_REUSED);
	if (constructors) {
		for (uint64_t i = 0; i < 5; i++)
			put(s, 200 + i, 1, EVENT_CONSTRUCT, 0x2000 + 4 * i, 0, 0, 0, 1, 0);
		for (uint64_t i = 0; i < 3; i++)
			put(s, 210 + i, 1, EVENT_DESTROY, 0x2000 + 4 * i, 0, 0, 0, 1, 0);
	}
	/* the child's, of what it inherited */
	put(s, 600, 2, EVENT_FREE, 0x2000, 0, 0, 0, 0, SHINY_API_DELETE);
	put(s, 700, 3, EVENT_ALLOC, 0x1000, 10, 0, PLAIN, 0, SHINY_API_MALLOC);
	must(store_finish(s, NULL));
	must(store_open(path, &s));
	must(filter_resolve(s, NULL, &filter));
	must(streams_load(s, &filter, false, &streams));
	number("roles", streams.count, 2);
	number("renderer/first", strcmp(streams.rows[0].name, "renderer") == 0, 1);
	number("renderer/processes", streams.rows[0].processes, 2);
	number("renderer/allocations", streams.rows[0].allocations, 5);
	number("renderer/deallocations", streams.rows[0].deallocations, 3);
	number("renderer/collected", streams.rows[0].collected, 2);
	number("renderer/finalized", streams.rows[0].finalized, 1);
	number("renderer/objects", streams.rows[0].objects, 2);
	number("renderer/ended objects", streams.rows[0].ended_objects, 2);
	number("renderer/constructions", streams_constructions(&streams, &streams.rows[0]),
	       constructors ? 7 : 4);
	number("renderer/destructions", streams_destructions(&streams, &streams.rows[0]),
	       constructors ? 4 : 3);
	number("tool/allocations", streams.rows[1].allocations, 1);
	number("total/allocations", streams.total.allocations, 6);
	number("total/processes", streams.total.processes, 3);
	number("recorded", streams.recorded, constructors);
	number("duration", streams.duration, 1000);
	streams_deinit(&streams);
	filter_deinit(&filter);
	store_close(s);
}

int main(void)
{
	snprintf(path, sizeof(path), "/tmp/test_streams.%d.shiny", (int)getpid());
	count(false);
	count(true);
	unlink(path);
	printf("# %d failures\n", failures);
	return failures != 0;
}
