/* SPDX-License-Identifier: Apache-2.0 */
/* answers_json.c: see answers_json.h. */
#include "answers_json.h"


void json_diagnoses(struct json *json, const struct diagnoses *diagnoses)
{
	json_array(json, "symptoms");
	for (size_t i = 0; i < SYMPTOMS; i++) {
		const struct diagnosis *d = &diagnoses->at[i];

		json_object(json, NULL);
		json_text(json, "name", symptom_names[i]);
		json_text(json, "verdict", verdict_names[d->verdict]);
		json_real(json, "value", d->value);
		json_real(json, "threshold", d->threshold);
		json_text(json, "measure", d->measure);
		json_text(json, "cause", d->cause);
		json_text(json, "advice", d->advice);
		json_text(json, "support", d->support);
		json_text(json, "missing", d->missing);
		json_text(json, "verb", d->verb);
		json_array(json, "rows");
		for (size_t n = 0; n < DIAGNOSE_ROWS && d->rows[n].name; n++) {
			json_object_line(json, NULL);
			json_text(json, "name", d->rows[n].name);
			json_text(json, "text", d->rows[n].text);
			json_number(json, "blocks", d->rows[n].blocks);
			json_number(json, "bytes", d->rows[n].bytes);
			json_end(json);
		}
		json_end(json);
		json_end(json);
	}
	json_end(json);
}

static void json_sums_of(struct json *json, const struct memory_sums *sums)
{
	json_number(json, "segments", sums->segments);
	json_number(json, "reserved", sums->reserved);
	json_number(json, "committed", sums->committed);
	json_number(json, "resident", sums->rss);
	json_number(json, "proportional", sums->pss);
	json_number(json, "private", sums->private);
	json_number(json, "swap", sums->swap);
	json_number(json, "live_blocks", sums->live_blocks);
	json_number(json, "live_bytes", sums->live_bytes);
}

static void json_process(struct json *json, const struct memory_process *p)
{
	json_object(json, NULL);
	json_number(json, "id", p->id);
	json_number(json, "pid", p->pid);
	json_text(json, "name", p->name);
	json_number(json, "at_ns", p->time);
	json_number(json, "areas", p->areas);
	json_sums_of(json, &p->sums);
	json_array(json, "owners");
	for (size_t i = 0; i < p->owner_count;) {
		struct memory_sums sums;
		size_t end = memory_owner_sums(p, i, &sums);

		json_object(json, NULL);
		json_text(json, "owner", p->owners[i].owner);
		json_sums_of(json, &sums);
		json_array(json, "details");
		for (; i < end; i++) {
			json_object_line(json, NULL);
			json_text(json, "detail", p->owners[i].detail);
			json_sums_of(json, &p->owners[i].sums);
			json_end(json);
		}
		json_end(json);
		json_end(json);
	}
	json_end(json);
	json_array(json, "samples");
	for (size_t i = 0; i < p->sample_count; i++) {
		json_object_line(json, NULL);
		json_number(json, "at_ns", p->samples[i].time);
		json_number(json, "resident", p->samples[i].rss);
		json_end(json);
	}
	json_end(json);
	json_end(json);
}

void json_memory(struct json *json, const struct memory_history *memory)
{
	json_number(json, "period_ns", memory->period);
	json_number(json, "cost_ns", memory->cost);
	json_number(json, "unseen", memory->unseen);
	json_array(json, "processes");
	for (size_t i = 0; i < memory->count; i++)
		json_process(json, &memory->processes[i]);
	json_end(json);
}
