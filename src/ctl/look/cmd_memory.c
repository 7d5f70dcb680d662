/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_memory.c: `shinyctl memory`: prints the owners of each process's memory: reserved,
 * accessible, resident. */
#include <string.h>

#include <shiny/wire/wire.h>

#include "../../analysis/space/memory.h"
#include "../../base/bars.h"
#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/units.h"
#include "../verb_body.h"

enum { HISTORY_COLUMNS = 24 };

/* The table of a process: its owners, and below an owner its details. */
struct memory_line {
	char *name;
	struct memory_sums sums;
	const char *owner; /* NULL: a detail */
};
struct memory_lines {
	VEC(struct memory_line) lines;
	uint64_t resident;
};

/* clang-format off */
static const struct field line_fields[] = {
	{ FIELD_TEXT("whose", struct memory_line, name), FIELD_NAME },
	{ FIELD_GROUP(struct memory_line, sums, memory_sums_fields) },
	{ FIELD_SHARE("of_resident", struct memory_line, sums.rss, struct memory_lines, resident) },
	FIELD_LAST
};
static const struct field lines_fields[] = {
	{ FIELD_ROWS("lines", struct memory_lines, lines.at, lines.count, line_fields),
	  .shows = "whose resident of_resident/2 private/3 swap/5 live_bytes/4 committed/6 "
		   "reserved/7 segments/8" },
	FIELD_LAST
};
/* clang-format on */

/* Draws the resident bytes of all samples as a line of bars. */
static char *history(const struct memory_process *p)
{
	uint64_t *resident = mem_alloc((p->sample_count + 1) * sizeof(*resident));
	char *bars;

	for (size_t i = 0; i < p->sample_count; i++)
		resident[i] = p->samples[i].rss;
	bars = bars_text(resident, p->sample_count, HISTORY_COLUMNS);
	free(resident);
	return bars;
}

/* Returns the bytes that the allocator, or a collector's heap, holds besides live ones, as text. */
static char *overhead(const void *row, void *context)
{
	const struct memory_line *line = row;
	const struct memory_sums *sums = &line->sums;
	unsigned api;

	if (!line->owner || !sums->live_bytes)
		return NULL;
	api = memory_heap(line->owner);
	if (sums->live_bytes > sums->rss)
		return mem_format(
			"     %s live in %s resident: blocks that nobody has touched yet\n",
			units_bytes(UNITS_BUF, sums->live_bytes),
			units_bytes(UNITS_BUF, sums->rss));
	return mem_format(
		"     %s live in %s resident: %s (%s) %s\n",
		units_bytes(UNITS_BUF, sums->live_bytes), units_bytes(UNITS_BUF, sums->rss),
		units_bytes(UNITS_BUF, sums->rss - sums->live_bytes),
		units_share(UNITS_BUF, (double)(sums->rss - sums->live_bytes), (double)sums->rss),
		api == SHINY_API_COLLECTED || api == SHINY_APIS
			? "garbage, free memory and the heap's own data"
			: "free memory, rounding and metadata of the allocator");
}

static void add_owner(struct memory_lines *to, const struct memory_owner *owner, bool details)
{
	*vec_push(&to->lines) = (struct memory_line){ .name = mem_format("  %s", owner->owner),
						      .sums = owner->sums,
						      .owner = owner->owner };
	if (!details || !memory_has_details(owner))
		return;
	for (size_t i = 0; i < owner->count; i++) {
		const struct memory_detail *d = &owner->details[i];

		*vec_push(&to->lines) = (struct memory_line){
			.name = mem_format("     %s", *d->detail ? d->detail : "(other)"),
			.sums = d->sums
		};
	}
}

static void print_process(struct ctl *ctl, const struct memory_process *p, bool details)
{
	struct style *style = &ctl->style;
	struct memory_lines owners = { .resident = p->sums.rss };
	const struct answer answer = { .fields = lines_fields,
				       .result = &owners,
				       .below = overhead };
	AUTO_FREE char *bars = history(p);

	fprintf(style->out, "%s%s, pid %u%s: %s resident, %.2f s after the start; %s\n",
		tint(style, TINT_BOLD), p->name, p->pid, tint_end(style, TINT_BOLD),
		units_bytes(UNITS_BUF, p->sums.rss), (double)p->time / 1e9,
		p->sample_count > 1 ? bars : "sampled once");
	if (!p->areas)
		fputs("  the kernel does not let this user look into it (/proc/PID/smaps): only "
		      "the sum is known\n",
		      style->out);
	for (size_t i = 0; i < p->owner_count; i++)
		add_owner(&owners, &p->owners[i], details);
	answer_table(&answer, "lines", style);
	for (size_t i = 0; i < owners.lines.count; i++)
		free(owners.lines.at[i].name);
	free(owners.lines.at);
	putc('\n', style->out);
}

static struct shiny_err *print_memory(struct ctl *ctl, const struct answer *answer)
{
	const struct memory_history *memory = answer->result;
	bool details = ctl->options.given[OPT_DETAILS];

	for (size_t i = 0; i < memory->count; i++)
		print_process(ctl, &memory->processes[i], details);
	if (!memory->count && !memory->period)
		fputs("no memory samples: SHINY_MEMORY_PERIOD was 0\n", ctl->style.out);
	else if (memory->unseen)
		fprintf(ctl->style.out, "%s%s %s too short-lived for a sample%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, memory->unseen, "process"),
			units_form(memory->unseen, "was", "were"), tint_end(&ctl->style, TINT_DIM));
	if (memory->cost)
		fprintf(ctl->style.out, "%sthe samples took %s of processor time%s\n",
			tint(&ctl->style, TINT_DIM), units_time(UNITS_BUF, memory->cost),
			tint_end(&ctl->style, TINT_DIM));
	return NULL;
}

static struct shiny_err *moment_of(const char *text, enum memory_moment *moment, uint64_t *time)
{
	*moment = MEMORY_LAST;
	*time = 0;
	if (!text || !strcmp(text, "last"))
		return NULL;
	*moment = MEMORY_PEAK;
	if (!strcmp(text, "peak"))
		return NULL;
	*moment = MEMORY_AT;
	if (units_parse_time(text, time))
		return NULL;
	return shiny_err(SHINY_ERR_USAGE,
			 "memory: --at %s: not last, peak or a time such as 2.5s since the start",
			 text);
}

static struct shiny_err *load_memory(struct ctl *ctl, struct store *store,
				     const struct filter *filter, void *result)
{
	enum memory_moment moment;
	uint64_t time;

	SHINY_TRY(moment_of(ctl->options.text[OPT_AT], &moment, &time));
	return memory_load(store, filter, moment, time, result);
}
VERB_BODY_DEINIT(struct memory_history, memory_deinit)

static const char *next_of_memory(const struct ctl *ctl)
{
	return ctl->options.given[OPT_DETAILS] ? "tree --measure resident" : "memory --details";
}

const struct verb_body verb_memory = {
	.fields = memory_fields,
	.size = sizeof(struct memory_history),
	.load = load_memory,
	.deinit = memory_deinit_result,
	.print = print_memory,
	.next_of = next_of_memory,
};
