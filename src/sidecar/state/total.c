/* SPDX-License-Identifier: Apache-2.0 */
#include "total.h"

#include <stdlib.h>
#include <string.h>

void total_init(struct total *total)
{
	*total = (struct total){ .next = UINT64_MAX, .rise = UINT64_MAX };
}

void total_deinit(struct total *total)
{
	free(total->moments.at);
	free(total->leavers.at);
	total_init(total);
}

static void put_moment(struct total *total, const struct total_moment *moment)
{
	*vec_push(&total->moments) = *moment;
	if (moment->time < total->next)
		total->next = moment->time;
}

void total_begins(struct total *total, uint64_t time)
{
	put_moment(total, &(struct total_moment){ .time = time });
}

void total_ends(struct total *total, struct total_part *part, uint64_t time, bool replaced)
{
	put_moment(total, &(struct total_moment){
				  .time = time, .part = part, .replaced = replaced });
}

/* ---- leavers ---- */

static void total_find_rise(struct total *total)
{
	total->rise = UINT64_MAX;
	for (size_t i = 0; i < total->leavers.count; i++)
		if (total->leavers.at[i].followed && total->leavers.at[i].goes < total->rise)
			total->rise = total->leavers.at[i].goes;
}

/* Removes a leaver; the one before it covers its time, for the first one `peak` does. */
static void drop_leaver(struct total *total, size_t at)
{
	struct total_leaver *leaver = &total->leavers.at[at];

	if (at && leaver->most.bytes > leaver[-1].most.bytes)
		leaver[-1].most = leaver->most;
	memmove(leaver, leaver + 1, (total->leavers.count - at - 1) * sizeof(*leaver));
	total->leavers.count--;
}

void total_rise(struct total *total)
{
	for (size_t i = total->leavers.count; i-- > 0;) {
		struct total_leaver *leaver = &total->leavers.at[i];

		if (!leaver->followed || total->bytes < leaver->goes)
			continue;
		leaver->part->gone = true;
		drop_leaver(total, i);
	}
	total_find_rise(total);
}

static void process_begins(struct total *total)
{
	for (size_t i = 0; i < total->leavers.count; i++)
		total->leavers.at[i].followed = true;
	total_find_rise(total);
}

static void process_leaves(struct total *total, const struct total_moment *moment)
{
	struct total_part *part = moment->part;
	uint64_t held = part->bytes, tenth;
	struct total_leaver *leaver;

	if (part->left)
		return;
	part->left = true;
	part->left_at = moment->time;
	total_lower(total, part->blocks, held);
	part->gone = moment->replaced || !part->blocks;
	if (part->gone)
		return;
	tenth = total->bytes / TOTAL_RISE;
	leaver = vec_push(&total->leavers);
	*leaver = (struct total_leaver){ .part = part,
					 .goes = total->bytes + (held < tenth ? held : tenth),
					 .most = { total->blocks, total->bytes, moment->time } };
}

void total_returns(struct total *total, struct total_part *part, uint64_t time, bool replaced)
{
	if (time <= part->left_at)
		total_ends(total, part, part->left_at, replaced || (part->gone && part->blocks));
	part->left = part->gone = false;
	for (size_t i = 0; i < total->leavers.count; i++)
		if (total->leavers.at[i].part == part) {
			drop_leaver(total, i);
			total_find_rise(total);
			break;
		}
	total->blocks += part->blocks;
	total->bytes += part->bytes;
}

/* ---- in time ---- */

void total_until_slow(struct total *total, uint64_t time)
{
	while (total->next < time) {
		uint64_t now = total->next;

		total->next = UINT64_MAX;
		for (size_t i = 0; i < total->moments.count;) {
			struct total_moment moment = total->moments.at[i];

			if (moment.time != now) {
				if (moment.time < total->next)
					total->next = moment.time;
				i++;
				continue;
			}
			total->moments.at[i] = total->moments.at[--total->moments.count];
			if (moment.part)
				process_leaves(total, &moment);
			else
				process_begins(total);
		}
	}
}

struct total_peak total_highest(const struct total *total)
{
	struct total_peak highest = total->peak;
	uint64_t blocks = 0, bytes = 0;

	for (size_t i = 0; i < total->leavers.count; i++) {
		const struct total_leaver *leaver = &total->leavers.at[i];

		blocks += leaver->part->blocks;
		bytes += leaver->part->bytes;
		if (bytes + leaver->most.bytes > highest.bytes)
			highest = (struct total_peak){ blocks + leaver->most.blocks,
						       bytes + leaver->most.bytes,
						       leaver->most.time };
	}
	return highest;
}
