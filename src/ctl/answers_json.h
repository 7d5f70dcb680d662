/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers_json.h: puts the JSON of `diagnose` and `memory`, for these verbs and for the page of
 * `html`; help/verbs documents the members.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_ANSWERS_JSON_H
#define SHINY_ANSWERS_JSON_H

#include "../analysis/diagnose.h"
#include "../analysis/space/memory.h"
#include "../base/json.h"

/* Puts members into the open object; `limit`: most rows. */
void json_diagnoses(struct json *json, const struct diagnoses *diagnoses);
void json_memory(struct json *json, const struct memory_history *memory);

#endif
