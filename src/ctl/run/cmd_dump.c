/* SPDX-License-Identifier: Apache-2.0 */
/*
 * cmd_dump.c: `shinyctl dump`: a whole session of what a recording has until now.
 *
 * It reads the growing file as `collect FILE` does, beside the sidecar, so that the recording waits
 * for nothing. The file ends at the sidecar's last commit, of which there is one a second: the
 * command waits for one of what had happened when it was called.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../sidecar/recover.h"
#include "../../store/contents.h"
#include "../verb_body.h"
#include "closing.h"
#include "confine_verb.h"
#include "recording_options.h"
#include "written_session.h"

enum { COMMIT_SECONDS = 10 };

static uint64_t boottime_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_BOOTTIME, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Waits until the file has what happened before `asked`, at most COMMIT_SECONDS: a recording that
 * is behind is dumped as far as it is. */
static struct shiny_err *wait_for_commit(const char *file, uint64_t asked)
{
	static const struct timespec pause = { .tv_nsec = 20000000 };
	uint64_t start = 0, committed = 0, until = asked + COMMIT_SECONDS * UINT64_C(1000000000);

	while (start + committed < asked && boottime_ns() < until && store_is_written(file)) {
		struct store *store;
		struct shiny_err *err;

		SHINY_TRY(store_open(file, &store));
		err = contents_number(store, "started_boottime_ns", &start);
		if (!err)
			err = contents_number(store, "committed_ns", &committed);
		store_close(store);
		if (err)
			return err;
		nanosleep(&pause, NULL);
	}
	return NULL;
}

/* Confines the verb: it reads a session that need not be its operand, and may write beside it. */
static void confine_dump(const struct options *options, const char *file, const char *directory)
{
	char *session[] = { (char *)(uintptr_t)file };
	struct options of = *options;
	const struct confine_place beside = { directory, CONFINE_MAKE };

	of.operands = session;
	of.operand_count = 1;
	confine_verb(&of, CONFINE_NAMER, &beside, 1);
}

static char *usual_name(const char *file)
{
	size_t length = strlen(file);
	bool named = length > 6 && !strcmp(file + length - 6, ".shiny");

	return mem_format("%.*s.dump.shiny", (int)(length - (named ? 6 : 0)), file);
}

static struct shiny_err *cmd_dump(struct ctl *ctl)
{
	const struct options *o = &ctl->options;
	char file[SESSIONS_PATH], directory[SESSIONS_PATH];
	AUTO_FREE char *out = NULL, *beside = NULL;
	char *slash;
	struct sidecar_summary summary = { .late = false };
	struct sidecar_options options;
	uint64_t asked = boottime_ns();

	SHINY_TRY(written_session_named(o->operand_count ? o->operands[0] : NULL, "dump", file,
					directory));
	out = o->given[OPT_OUTPUT] ? mem_text(o->text[OPT_OUTPUT]) : usual_name(file);
	beside = mem_text(out);
	slash = strrchr(beside, '/');
	if (slash)
		*slash = '\0';
	confine_dump(o, file, slash ? beside : ".");
	SHINY_TRY(wait_for_commit(file, asked));
	options = recording_options(o, NULL, out);
	options.growing = store_is_written(file);
	SHINY_TRY(sidecar_recover(&options, file, &summary));
	if (CTL_JSON(ctl)) {
		ctl_document(ctl);
		closing_json(&ctl->json, &summary);
		json_end(&ctl->json);
	}
	closing_print(&summary, o->given[OPT_QUIET] || CTL_JSON(ctl));
	return NULL;
}

const struct verb_body verb_dump = { .run = cmd_dump };
