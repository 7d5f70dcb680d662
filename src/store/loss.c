/* SPDX-License-Identifier: Apache-2.0 */
/* loss.c: see loss.h. */
#include "loss.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "../base/capped.h"
#include "../base/units.h"

enum { WEIGHT_NOTE, WEIGHT_LOSS };

static const struct loss_kind kinds[] = {
#define SHINY_COUNTER(name, weight, text, advice) \
	{ #name, text, advice, WEIGHT_##weight == WEIGHT_LOSS, LOSS_EVENTS },
#include <shiny/wire/counters.def>
#undef SHINY_COUNTER
#define SHINY_NOTICED(name, field, weight, unit, text, advice) \
	{ #name, text, advice, WEIGHT_##weight == WEIGHT_LOSS, LOSS_##unit },
#include "noticed.def"
#undef SHINY_NOTICED
};

const struct loss_kind *loss_kind(const char *name)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i].name, name))
			return &kinds[i];
	return NULL;
}

void loss_add(struct loss_sum *sum, const char *name, uint64_t count)
{
	const struct loss_kind *kind = loss_kind(name);

	switch (kind ? kind->unit : LOSS_EVENTS) {
	case LOSS_EVENTS:
		sum->events = capped_sum(sum->events, count);
		break;
	case LOSS_CHUNKS:
		sum->chunks = capped_sum(sum->chunks, count);
		break;
	case LOSS_HEAPS:
		sum->heaps += count;
		break;
	case LOSS_REFERENCES:
		sum->references = capped_sum(sum->references, count);
		break;
	case LOSS_SESSION:
		sum->cut_short = sum->cut_short || count;
		break;
	case LOSS_UNKNOWN:
		sum->unknown = sum->unknown || count;
		break;
	}
	if (count > sum->most) {
		sum->most = count;
		snprintf(sum->name, sizeof(sum->name), "%s", name);
	}
}

bool loss_any(const struct loss_sum *sum)
{
	return sum->events || sum->chunks || sum->heaps || sum->references || sum->cut_short ||
	       sum->unknown;
}

const char *loss_words(const struct loss_sum *sum, char out[LOSS_WORDS])
{
	const char *cut = sum->cut_short ? "all that came after the last commit"
			  : sum->unknown ? "what a ring that lies does not tell"
					 : "";
	const struct {
		const char *noun, *before, *behind;
		uint64_t count;
	} parts[] = {
		{ "event", "", "", sum->events },
		{ "chunk", "", " of records", sum->chunks },
		{ "allocator", "the blocks of ", "", sum->heaps },
		{ "reference", "", " of the file", sum->references },
	};
	bool least = (*cut || sum->chunks || sum->heaps) && sum->events;
	int used = snprintf(out, LOSS_WORDS, "%s", least ? "at least " : "");
	const char *between = "";

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if (!parts[i].count)
			continue;
		used += snprintf(out + used, LOSS_WORDS - (size_t)used, "%s%s%s%s", between,
				 parts[i].before,
				 units_noun(UNITS_NOUN_BUF, parts[i].count, parts[i].noun),
				 parts[i].behind);
		between = ", and ";
	}
	if (*cut)
		snprintf(out + used, LOSS_WORDS - (size_t)used, "%s%s", between, cut);
	else if (!*between)
		snprintf(out, LOSS_WORDS, "nothing");
	return out;
}

const char *loss_advice(const struct loss_sum *sum)
{
	const struct loss_kind *kind = loss_kind(sum->name);

	return kind ? kind->advice : NULL;
}
