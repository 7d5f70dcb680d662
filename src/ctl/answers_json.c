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
