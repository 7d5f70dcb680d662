/* SPDX-License-Identifier: Apache-2.0 */
/* settle.c: see settle.h. */
#include "settle.h"

#include <stdlib.h>

#include "../../base/row_order.h"

struct live_page {
	uint64_t page;
	uint32_t bytes;
};

struct live_count {
	struct output *output;
	struct process *process;
	VEC(struct live_page) pages;
};

/* Bounds the rows, as a few hostile records can claim terabytes: each process may have the first
 * number of pages, all together the second one beyond that. */
enum { PAGE_SHIFT = 12, PAGES_OF_A_PROCESS = 1 << 16, PAGES_OF_A_SESSION = 1 << 23 };

static bool has_pages_left(struct live_count *count)
{
	if (count->pages.count < PAGES_OF_A_PROCESS)
		return true;
	if (count->output->pages_beyond == PAGES_OF_A_SESSION)
		return false;
	count->output->pages_beyond++;
	return true;
}

static void count_live(void *context, const struct entry *entry)
{
	struct live_count *count = context;
	struct process *p = count->process;
	uint64_t ended = p->within ? p->within->end : p->end;
	uint64_t end = ended ? ended : count->output->applied_until, at = entry->address,
		 left = entry->size;
	int64_t age = ticks_scale(&count->output->ticks, (int64_t)(end - entry->birth));

	if (end == UINT64_MAX)
		age = ticks_scale(&count->output->ticks, (int64_t)(p->last - entry->birth));
	stats_live(&p->stats, entry, age > 0 ? (uint64_t)age : 0);
	for (unsigned n = 0; n < STORE_BLOCK_PAGES && has_pages_left(count); n++) {
		uint64_t in_page =
			(UINT64_C(1) << PAGE_SHIFT) - (at & ((UINT64_C(1) << PAGE_SHIFT) - 1));
		uint64_t bytes = left < in_page ? left : in_page;

		*vec_push(&count->pages) = (struct live_page){ at >> PAGE_SHIFT, (uint32_t)bytes };
		left -= bytes;
		at += bytes;
		if (!left)
			break;
	}
}

ORDER_BY(by_page, struct live_page, ORDER_UP(page))

void process_settle(struct output *output, struct process *p)
{
	struct live_count count = { .output = output, .process = p };

	if (p->settled)
		return;
	registry_each(&p->registry, count_live, &count);
	if (count.pages.count)
		qsort(count.pages.at, count.pages.count, sizeof(*count.pages.at), by_page);
	for (size_t i = 0; i < count.pages.count;) {
		struct store_page row = { .process = p->id, .page = count.pages.at[i].page };

		for (; i < count.pages.count && count.pages.at[i].page == row.page; i++) {
			row.blocks++;
			row.live_bytes += count.pages.at[i].bytes;
		}
		/* finish.c drops the pages of processes that ended before the session */
		OUTPUT_PUT(output, store_put_page, &row);
	}
	free(count.pages.at);
	registry_deinit(&p->registry);
	objects_deinit(&p->objects);
	deaths_deinit(&p->deaths);
	pools_deinit(&p->pools);
	p->settled = true;
}
