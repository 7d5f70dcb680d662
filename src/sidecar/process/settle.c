/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c: see settle.h. */
#include "settle.h"

#include <stdlib.h>

struct page {
	uint64_t page;
	uint32_t bytes;
};

struct census {
	struct session *session;
	struct process *process;
	VEC(struct page) pages;
};

/* A few records can say that there are terabytes: a process has so many pages, and more only while
 * those of the session last. */
enum { PAGE_SHIFT = 12, PAGES_OF_A_PROCESS = 1 << 16, PAGES_OF_A_SESSION = 1 << 23 };

static bool has_pages_left(struct census *census)
{
	if (census->pages.count < PAGES_OF_A_PROCESS)
		return true;
	if (census->session->pages_beyond == PAGES_OF_A_SESSION)
		return false;
	census->session->pages_beyond++;
	return true;
}

static void count_live(void *context, const struct entry *entry)
{
	struct census *census = context;
	struct process *p = census->process;
	uint64_t end = p->end ? p->end : census->session->applied_until, at = entry->address,
		 left = entry->size;
	int64_t age = ticks_scale(&census->session->ticks, (int64_t)(end - entry->birth));

	if (end == UINT64_MAX)
		age = ticks_scale(&census->session->ticks, (int64_t)(p->last - entry->birth));
	stats_live(&p->stats, entry, age > 0 ? (uint64_t)age : 0);
	for (unsigned n = 0; n < STORE_BLOCK_PAGES && has_pages_left(census); n++) {
		uint64_t in_page =
			(UINT64_C(1) << PAGE_SHIFT) - (at & ((UINT64_C(1) << PAGE_SHIFT) - 1));
		uint64_t bytes = left < in_page ? left : in_page;

		*vec_push(&census->pages) = (struct page){ at >> PAGE_SHIFT, (uint32_t)bytes };
		left -= bytes;
		at += bytes;
		if (!left)
			break;
	}
}

static int compare_pages(const void *a, const void *b)
{
	const struct page *x = a, *y = b;

	return (x->page > y->page) - (x->page < y->page);
}

void process_settle(struct session *session, struct process *p)
{
	struct census census = { .session = session, .process = p };

	if (p->settled)
		return;
	registry_each(&p->registry, count_live, &census);
	if (census.pages.count)
		qsort(census.pages.at, census.pages.count, sizeof(*census.pages.at), compare_pages);
	for (size_t i = 0; i < census.pages.count;) {
		struct store_page row = { .process = p->id, .page = census.pages.at[i].page };

		for (; i < census.pages.count && census.pages.at[i].page == row.page; i++) {
			row.blocks++;
			row.live_bytes += census.pages.at[i].bytes;
		}
		/* finish.c drops them where they are not the session's */
		session_fail(session, store_put_page(session->store, &row));
	}
	free(census.pages.at);
	registry_deinit(&p->registry);
	objects_deinit(&p->objects);
	free(p->deaths);
	p->deaths = NULL;
	p->deaths_count = p->deaths_room = 0;
	p->settled = true;
}
