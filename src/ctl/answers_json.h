/* SPDX-License-Identifier: Apache-2.0 */
/*
 * answers_json.h: puts the JSON of `diagnose`, for this verb and for the page of `html`;
 * help/verbs documents the members.
 *
 * Runs: CLI. Signals: no. Allocates: no. Threads: one.
 */
#ifndef SHINY_ANSWERS_JSON_H
#define SHINY_ANSWERS_JSON_H

#include "../analysis/diagnose.h"
#include "../base/json.h"

/* Puts members into the open object. */
void json_diagnoses(struct json *json, const struct diagnoses *diagnoses);

#endif
