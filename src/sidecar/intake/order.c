/* SPDX-License-Identifier: Apache-2.0 */
/* order.c: see order.h. */
#include "order.h"

#include <stdlib.h>

#include "../../base/mem.h"

void order_deinit(struct order *order)
{
	free(order->at);
	*order = (struct order){ 0 };
}

void order_add(struct order *order, uint64_t key, void *stream)
{
	size_t i = ++order->count;

	if (order->count + 1 > order->room) {
		order->room = order->room ? order->room * 2 : 64;
		order->at = mem_resize(order->at, order->room, sizeof(*order->at));
	}
	for (; i > 1 && order->at[i / 2].key > key; i /= 2)
		order->at[i] = order->at[i / 2];
	order->at[i] = (struct order_entry){ key, stream };
}

/* Replaces the first entry by `entry`. */
static void sift(struct order *order, struct order_entry entry)
{
	size_t i = 1;

	for (;;) {
		size_t child = 2 * i;

		if (child > order->count)
			break;
		if (child < order->count && order->at[child + 1].key < order->at[child].key)
			child++;
		if (order->at[child].key >= entry.key)
			break;
		order->at[i] = order->at[child];
		i = child;
	}
	order->at[i] = entry;
}

void order_change_first(struct order *order, uint64_t key)
{
	sift(order, (struct order_entry){ key, order->at[1].stream });
}

void order_remove_first(struct order *order)
{
	struct order_entry last = order->at[order->count--];

	if (order->count)
		sift(order, last);
}
