/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "ctl.h"

#include <inttypes.h>
#include <string.h>

#include "../answer/answer.h"
#include "../base/cleanup.h"
#include "../base/json_budget.h"
#include "../base/mem.h"
#include "../base/text.h"
#include "../base/units.h"

void ctl_document(struct ctl *ctl)
{
	json_init(&ctl->json, ctl->style.out);
	json_budget_begin(&ctl->json, (size_t)ctl->options.number[OPT_BUDGET],
			  (size_t)ctl->options.number[OPT_JSON_LIMIT]);
	json_object(&ctl->json, NULL);
	json_text(&ctl->json, "verb", questions[ctl->options.question].document);
	json_text(&ctl->json, "version", SHINY_VERSION_TEXT);
}

static void incomplete_line(const struct style *style, const struct losses *losses,
			    const char *path)
{
	const char *events = units_noun(UNITS_NOUN_BUF, losses->events, "event");

	fprintf(style->out, "%sincomplete:%s ", tint(style, TINT_WARN), tint_end(style, TINT_WARN));
	if (store_is_written(path))
		fprintf(style->out,
			"it is still being written: %s so far; sums by process, type and call site "
			"come at its end\n",
			events);
	else
		fprintf(style->out,
			"the recording was not finished: %s until its last commit, and no sums by "
			"process, type and call site. "
			"`shinyctl collect FILE` makes a whole session of that\n",
			events);
}

static void loss_line(const struct style *style, const struct losses *losses, const char *path)
{
	char words[LOSS_WORDS];
	bool any = loss_any(&losses->sum);

	if (losses->incomplete)
		incomplete_line(style, losses, path);
	if (losses->sample)
		fprintf(style->out,
			"%sestimated%s from a sample of the blocks: SHINY_SAMPLE, one in %s%s "
			"on average\n",
			tint(style, TINT_WARN), tint_end(style, TINT_WARN),
			units_bytes(UNITS_BUF, losses->sample),
			losses->sample_changes ? " or less" : "");
	if (losses->kept_from)
		fprintf(style->out,
			"%skept:%s the last %s of %s: what is told of single blocks and moments is "
			"of that time, and of blocks that lived then; sums are of all\n",
			tint(style, TINT_WARN), tint_end(style, TINT_WARN),
			units_time(UNITS_BUF, losses->duration - losses->kept_from),
			units_time(UNITS_BUF, losses->duration));
	fprintf(style->out, "%slost:%s %s\n", tint(style, any ? TINT_BAD : TINT_GOOD),
		tint_end(style, any ? TINT_BAD : TINT_GOOD), loss_words(&losses->sum, words));
	for (size_t i = 0; i < losses->count && losses->rows[i].loss; i++) {
		const struct loss_row *row = &losses->rows[i];

		fprintf(style->out, "  %12s  %s%s%s\n", units_count(UNITS_BUF, row->count),
			row->text ? row->text : row->name, row->advice ? " → " : "",
			row->advice ? row->advice : "");
	}
}

struct shiny_err *ctl_begin(struct ctl *ctl, struct store **store, struct filter *filter)
{
	struct shiny_err *err = store_open(ctl->options.operands[0], store);

	*filter = (struct filter){ 0 };
	if (err)
		return err;
	err = ctl_filter(ctl, *store, filter);
	if (err)
		store_close(*store);
	return err;
}

struct filter_names ctl_names(const struct ctl *ctl)
{
	const char *const *text = ctl->options.text;

	return (struct filter_names){ .process = text[OPT_PROCESS],
				      .heap = text[OPT_HEAP],
				      .tags = text[OPT_TAG],
				      .between = text[OPT_BETWEEN] };
}

void ctl_subset(struct ctl *ctl)
{
	const char *tags = ctl->options.text[OPT_TAG], *between = ctl->options.text[OPT_BETWEEN];

	if (CTL_JSON(ctl)) {
		json_text(&ctl->json, "tag", tags);
		json_text(&ctl->json, "between", between);
	} else if (tags || between) {
		AUTO_FREE char *tag = text_plain(tags ? tags : "");
		AUTO_FREE char *time = text_plain(between ? between : "");

		fprintf(ctl->style.out, "%sonly what was allocated%s%s%s%s%s\n",
			tint(&ctl->style, TINT_WARN), tags ? " with tag " : "", tag,
			between ? " between " : "", time, tint_end(&ctl->style, TINT_WARN));
	}
}

struct shiny_err *ctl_filter(const struct ctl *ctl, struct store *store, struct filter *filter)
{
	struct filter_names names = ctl_names(ctl);

	return filter_load(store, &names, filter);
}

struct shiny_err *ctl_loaded(struct store *store, struct filter *filter, struct shiny_err *err)
{
	filter_deinit(filter);
	if (err)
		store_close(store);
	return err;
}

struct shiny_err *ctl_losses_load(struct ctl *ctl, struct store *store, const char *path,
				  struct losses *out)
{
	char words[LOSS_WORDS];

	SHINY_TRY(losses_load(store, out));
	if (ctl->options.given[OPT_STRICT] && loss_any(&out->sum)) {
		ctl->status = SHINY_ERR_STRICT;
		text_line(stderr, "shinyctl: %s: missing from this session: %s (--strict)", path,
			  loss_words(&out->sum, words));
	}
	return NULL;
}

struct shiny_err *ctl_losses(struct ctl *ctl, struct store *store, const char *path)
{
	struct losses losses = { 0 };
	struct shiny_err *err = NULL;

	SHINY_TRY(ctl_losses_load(ctl, store, path, &losses));
	if (CTL_JSON(ctl))
		err = answer_json(&(struct answer){ .fields = losses_fields, .result = &losses },
				  &ctl->json);
	else
		loss_line(&ctl->style, &losses, path);
	losses_deinit(&losses);
	return err;
}

char *ctl_heap(const struct ctl *ctl, const char *command)
{
	const char *heap = ctl->options.text[OPT_HEAP];
	size_t length = strcspn(command, " ");
	AUTO_FREE char *word = text_word(heap ? heap : "");

	for (size_t v = 0; heap && v < VERB_COUNT; v++)
		if (strlen(verbs[v].name) == length &&
		    memcmp(verbs[v].name, command, length) == 0 &&
		    option_specs[OPT_HEAP].verbs >> v & 1)
			return mem_format(" --heap %s", word);
	return mem_text("");
}

struct shiny_err *ctl_end(struct ctl *ctl, struct store *store, const char *next)
{
	struct shiny_err *err;

	if (!CTL_JSON(ctl))
		putc('\n', ctl->style.out);
	err = ctl_losses(ctl, store, ctl->options.operands[0]);
	store_close(store);
	if (err)
		return err;
	if (CTL_JSON(ctl))
		json_end(&ctl->json);
	else if (next && ctl->style.width) {
		AUTO_FREE char *file = text_shell(ctl->options.operands[0]);
		AUTO_FREE char *heap = ctl_heap(ctl, next);

		fprintf(ctl->style.out, "%snext:%s shinyctl %s%s %s\n",
			tint(&ctl->style, TINT_DIM), tint_end(&ctl->style, TINT_DIM), next, heap,
			file);
	}
	return NULL;
}

size_t ctl_limit(const struct ctl *ctl, size_t count, size_t usual)
{
	bool text = !CTL_JSON(ctl) && !ctl->options.given[OPT_CSV];
	uint64_t limit = ctl->style.width && text ? usual : 0;

	if (ctl->options.verb == VERB_REPORT)
		limit = usual;
	if (ctl->options.given[OPT_LIMIT])
		limit = ctl->options.number[OPT_LIMIT];
	return limit && limit < count ? (size_t)limit : count;
}

void ctl_more(const struct ctl *ctl, size_t shown, size_t count)
{
	if (shown < count)
		fprintf(ctl->style.out, "%s… and %s (--limit 0 shows all)%s\n",
			tint(&ctl->style, TINT_DIM),
			units_noun(UNITS_NOUN_BUF, count - shown, "more row"),
			tint_end(&ctl->style, TINT_DIM));
}

/* Returns the shortest spelling of a call site's name that `explain` takes, and that is the same in
 * each recording of a build: "orders.cc:49", else "lib.so+0x9d1c8 ← caller" or the function;
 * NULL: it has none. */
static char *site_word(const char *name)
{
	static const char arrow[] = " \xe2\x86\x90 ";
	const char *open = strrchr(name, '('), *end = name + strlen(name), *line;

	if (*name == '(')
		return NULL;
	line = open ? strrchr(open, ':') : NULL;
	if (line && end[-1] == ')' && line[1] >= '0' && line[1] <= '9')
		return mem_format("%.*s", (int)(end - 1 - open - 1), open + 1);
	open = strstr(name, arrow);
	if (open) { /* up to the caller's template arguments, which may be shortened here */
		open += strlen(arrow);
		open += strcspn(open, "<( ");
	} else {
		open = strstr(name, " (") ?: strstr(name, " in ") ?: end;
	}
	return mem_format("%.*s", (int)(open - name), name);
}

/* Returns a type's name without its mark, its container and what makes it an array; NULL: a label,
 * which is no type. */
static char *type_word(const char *name)
{
	const char *start = name + strspn(name, "~?"), *in = strstr(start, " in ");
	size_t length = in ? (size_t)(in - start) : strlen(start);

	if (length > 2 && strncmp(start + length - 2, "[]", 2) == 0)
		length -= 2;
	return *start == '(' ? NULL : mem_format("%.*s", (int)length, start);
}

void ctl_why(const struct ctl *ctl, bool is_site, const char *name)
{
	AUTO_FREE char *file = text_shell(ctl->options.operands[0]);
	AUTO_FREE char *word = is_site ? site_word(name) : type_word(name);
	AUTO_FREE char *shown = word ? text_word(word) : NULL;
	AUTO_FREE char *heap = ctl_heap(ctl, "explain");

	if (shown)
		fprintf(ctl->style.out, "%swhy the first row:%s shinyctl %s%s%s %s %s\n",
			tint(&ctl->style, TINT_DIM), tint_end(&ctl->style, TINT_DIM),
			is_site ? "explain" : "sites", heap, is_site ? "" : " --match",
			is_site ? file : shown, is_site ? shown : file);
}

void ctl_line(const struct style *style, enum tint which, const char *text)
{
	size_t room = style->width ? style->width : 4000;
	AUTO_FREE char *fitted = mem_alloc(4 * room + 16);
	char *last;

	text_fit(fitted, 4 * room + 8, text, room, TEXT_CUT_END);
	/* no half of a word, no number without its unit: what was begun goes, back to a comma if
	 * one is near */
	last = strcmp(fitted, text) ? memrchr(fitted, ' ', strlen(fitted)) : NULL;
	for (char *comma = last; comma && comma > fitted + strlen(fitted) / 2; comma--)
		if (comma[-1] == ',') {
			last = comma;
			break;
		}
	while (last && last > fitted && last[-1] >= '0' && last[-1] <= '9')
		last = memrchr(fitted, ' ', (size_t)(last - fitted));
	if (last && last > fitted + strlen(fitted) / 2)
		strcpy(last, " \xe2\x80\xa6");
	fprintf(style->out, "%s%s%s\n", tint(style, which), fitted, tint_end(style, which));
}

void ctl_heading(const struct ctl *ctl, const char *title, const char *more)
{
	fprintf(ctl->style.out, "\n%s%s%s%s%s%s\n", tint(&ctl->style, TINT_BOLD), title,
		tint_end(&ctl->style, TINT_BOLD), tint(&ctl->style, TINT_DIM), more,
		tint_end(&ctl->style, TINT_DIM));
}

void json_sums(struct json *json, const struct sums *sums)
{
#define WRITE_COUNT(name) json_number(json, #name, sums->name);
#define WRITE_BYTES(name) json_number(json, #name, sums->name);
#define WRITE_VARIANCE(name)
#define WRITE(name, kind, ...) WRITE_##kind(name)
	SUMS_EACH(WRITE, WRITE)
#undef WRITE
#undef WRITE_VARIANCE
#undef WRITE_BYTES
#undef WRITE_COUNT
}
