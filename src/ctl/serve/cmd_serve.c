/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_serve.c: `shinyctl serve`: pages of sessions on a local server. */
#include <signal.h>
#include <stdlib.h>

#include "../../base/cleanup.h"
#include "../run/confine_verb.h"
#include "../verb_body.h"
#include "serve_pages.h"

static volatile sig_atomic_t ended;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

static struct shiny_err *cmd_serve(struct ctl *ctl)
{
	struct serve_pages pages = { .files = ctl->options.operands,
				     .count = ctl->options.operand_count,
				     .most_samples = ctl->options.number[OPT_STACKS_MOST] };
	struct sigaction action = { .sa_handler = on_end };
	const struct confine_place places[] = { { "/tmp", CONFINE_TREE },
						{ getenv("TMPDIR"), CONFINE_TREE } };
	char address[SERVE_ADDRESS];
	struct serve_http *http;
	struct shiny_err *err = NULL;

	SHINY_TRY(serve_http_start((uint16_t)ctl->options.number[OPT_PORT], serve_pages_document,
				   &pages, address, &http));
	/* it listens already: from the network it only needs to accept */
	confine_verb(&ctl->options, CONFINE_NAMER, places, sizeof(places) / sizeof(*places));
	for (size_t i = 0; !err && i < pages.count; i++) { /* report errors now */
		struct store *store;

		err = store_open(pages.files[i], &store);
		if (!err)
			store_close(store);
	}
	if (err) {
		serve_http_stop(http);
		return err;
	}
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	fprintf(ctl->style.out, "%s\n", address);
	fflush(ctl->style.out);
	while (!ended && serve_http_run(http, 500))
		;
	serve_http_stop(http);
	return NULL;
}

const struct verb_body verb_serve = { .run = cmd_serve };
