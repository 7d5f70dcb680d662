/* SPDX-License-Identifier: Apache-2.0 */
#include "verb_body.h"

#include "../base/cleanup.h"
#include "../base/mem.h"
#include "../store/contents.h"

void verb_body_table(struct ctl *ctl, const struct answer *answer)
{
	answer_table(answer, "rows", &ctl->style);
	ctl_more(ctl, answer->limit, answer_count(answer, "rows"));
}

static struct shiny_err *show(struct ctl *ctl, const struct verb_body *verb,
			      const struct answer *answer)
{
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		return answer_json(answer, &ctl->json);
	}
	if (ctl->options.given[OPT_CSV] && !verb->prints_csv) {
		answer_csv(answer, "rows", ctl->style.out);
		return NULL;
	}
	if (verb->print)
		return verb->print(ctl, answer);
	if (verb->above)
		verb->above(ctl, answer->result);
	verb_body_table(ctl, answer);
	if (verb->below)
		verb->below(ctl, answer->result);
	return NULL;
}

struct shiny_err *verb_body_whole(const struct ctl *ctl, struct store *store, const char *needs)
{
	uint64_t mean;

	SHINY_TRY(contents_sample(store, &mean, NULL));
	return mean ? shiny_err(SHINY_ERR_USAGE,
				"%s: %s has a sample of the blocks (SHINY_SAMPLE): %s is known "
				"only where all are recorded, without it",
				verbs[ctl->options.verb].name, ctl->options.operands[0], needs)
		    : NULL;
}

static struct shiny_err *run_rows(struct ctl *ctl, const struct verb_body *verb)
{
	AUTO_FREE void *result = mem_zero(1, verb->size);
	AUTO_ERR struct shiny_err *err = NULL, *closing = NULL;
	struct answer answer = { .fields = verb->fields, .result = result };
	struct filter filter = { 0 };
	struct store *store = NULL;
	bool csv = ctl->options.given[OPT_CSV];

	if (csv && CTL_JSON(ctl))
		return shiny_err(SHINY_ERR_USAGE, "%s: --csv and --json: one of them",
				 verbs[ctl->options.verb].name);
	if (csv && !verb->prints_csv && !answer_has(&answer, "rows"))
		return shiny_err(SHINY_ERR_USAGE, "%s: --csv: it prints no list of rows; --json "
				 "has all that it says", verbs[ctl->options.verb].name);
	if (!verb->no_session)
		SHINY_TRY(ctl_begin(ctl, &store, &filter));
	if (verb->needs)
		err = verb_body_whole(ctl, store, verb->needs);
	if (!err)
		err = verb->load(ctl, store, &filter, result);
	if (err)
		return ctl_loaded(store, &filter, shiny_steal(err));
	answer.limit = ctl_limit(ctl, SIZE_MAX, verb->usual);
	if (ctl->options.text[OPT_BY])
		answer.by = dimension_names[ctl->options.by].title;
	answer.match = verb->match ? ctl->options.text[OPT_MATCH] : NULL;
	answer.context = store;
	err = show(ctl, verb, &answer);
	verb->deinit(result);
	filter_deinit(&filter);
	if (csv) /* the losses are no row */
		ctl->style.out = stderr;
	if (!verb->no_session)
		closing = ctl_end(ctl, store,
				  csv		  ? NULL
				  : verb->next_of ? verb->next_of(ctl)
						  : verb->next);
	else if (CTL_JSON(ctl))
		json_end(&ctl->json);
	return err ? shiny_steal(err) : shiny_steal(closing);
}

struct shiny_err *verb_body_run(struct ctl *ctl, const struct verb_body *verb)
{
	if (verb->instead && verb->instead->fits(ctl))
		verb = verb->instead;
	return verb->run ? verb->run(ctl) : run_rows(ctl, verb);
}
