/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_snapshot.c: `shinyctl tell PID snapshot`: records which block points to which, now. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/units.h"
#include "../verb_body.h"
#include "sessions.h"
#include "snapshot_client.h"

enum { ID, BLOCKS, BYTES, EDGES, ROOTS, COPIED, UNREAD, STOPPED, TOOK, NUMBERS };

/* A line of the answer (snapshot_ask.h). */
struct taken {
	uint64_t pid, numbers[NUMBERS];
	const char *refusal; /* NULL: the snapshot was taken */
};

static void read_line(char *line, struct taken *out)
{
	char *field = strsep(&line, "\t");

	*out = (struct taken){ .pid = strtoull(field, NULL, 10) };
	field = strsep(&line, "\t");
	if (!field || strcmp(field, "1") != 0) {
		out->refusal = line ? line : "it was not taken";
		return;
	}
	for (unsigned i = 0; i < NUMBERS && (field = strsep(&line, "\t")); i++)
		out->numbers[i] = strtoull(field, NULL, 10);
}

static void print(const struct ctl *ctl, const struct taken *t)
{
	const uint64_t *n = t->numbers;

	if (t->refusal) {
		fprintf(stderr, "shinyctl: %s\n", t->refusal);
		return;
	}
	fprintf(ctl->style.out, "snapshot %" PRIu64 " of process %" PRIu64 ": %s, %s, %s from %s\n",
		n[ID], t->pid, units_noun(UNITS_NOUN_BUF, n[BLOCKS], "block"),
		units_bytes(UNITS_BUF, n[BYTES]), units_noun(UNITS_NOUN_BUF, n[EDGES], "edge"),
		units_noun(UNITS_NOUN_BUF, n[ROOTS], "root"));
	fprintf(ctl->style.out, "  it stood still for %s; %s copied; %s in all\n",
		units_time(UNITS_BUF, n[STOPPED]), units_bytes(UNITS_BUF, n[COPIED]),
		units_time(UNITS_BUF, n[TOOK]));
	if (n[UNREAD])
		fprintf(ctl->style.out, "  %s of it could not be read\n",
			units_bytes(UNITS_BUF, n[UNREAD]));
}

static void json_row(struct json *json, const struct taken *t)
{
	static const char *const keys[NUMBERS] = { "snapshot", "blocks", "bytes", "edges", "roots",
						   "copied", "unread", "stopped_ns", "took_ns" };

	json_object_line(json, NULL);
	json_number(json, "pid", t->pid);
	json_text(json, "refusal", t->refusal);
	for (unsigned i = 0; i < NUMBERS && !t->refusal; i++)
		json_number(json, keys[i], t->numbers[i]);
	json_end(json);
}

static struct shiny_err *cmd_snapshot(struct ctl *ctl)
{
	const char *which = ctl->options.operands[0];
	pid_t pid = strspn(which, "0123456789") == strlen(which) ? (pid_t)strtol(which, NULL, 10)
								 : 0;
	AUTO_FREE char *directory = malloc(SESSIONS_PATH);
	AUTO_FREE char *answer = NULL;
	char *line, *rest;
	bool any = false;

	if (!directory)
		return shiny_err(SHINY_ERR_OTHER, "out of memory");
	SHINY_TRY(sessions_named(which, verbs[ctl->options.verb].name, directory));
	SHINY_TRY(snapshot_ask(directory, pid, &answer));
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		json_array(&ctl->json, "rows");
	}
	for (rest = answer; (line = strsep(&rest, "\n")) && *line;) {
		struct taken taken;

		read_line(line, &taken);
		any = any || !taken.refusal;
		if (CTL_JSON(ctl))
			json_row(&ctl->json, &taken);
		else
			print(ctl, &taken);
	}
	if (CTL_JSON(ctl)) {
		json_end(&ctl->json);
		json_end(&ctl->json);
	}
	if (!any)
		ctl->status = SHINY_ERR_OTHER;
	return NULL;
}

const struct verb_body verb_snapshot = { .run = cmd_snapshot };
