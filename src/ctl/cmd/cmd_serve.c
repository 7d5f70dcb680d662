/* SPDX-License-Identifier: Apache-2.0 */
/* cmd_serve.c: `shinyctl serve`: pages of sessions on a local server. */
#include <signal.h>

#include "../../base/cleanup.h"
#include "../ctl.h"
#include "../serve_pages.h"

static volatile sig_atomic_t ended;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

struct shiny_err *cmd_serve(struct ctl *ctl)
{
	struct serve_pages pages = { .files = ctl->options.operands,
				     .count = ctl->options.operand_count,
				     .most_samples = ctl->options.number[OPT_STACKS_MOST] };
	struct sigaction action = { .sa_handler = on_end };
	char address[SERVE_ADDRESS];
	struct serve_http *http;

	for (size_t i = 0; i < pages.count; i++) { /* what is wrong is said now */
		struct store *store;

		SHINY_TRY(store_open(pages.files[i], &store));
		store_close(store);
	}
	SHINY_TRY(serve_http_start((uint16_t)ctl->options.number[OPT_PORT], serve_pages_document,
				   &pages, address, &http));
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	fprintf(ctl->style.out, "%s\n", address);
	fflush(ctl->style.out);
	while (!ended && serve_http_run(http, 500))
		;
	serve_http_stop(http);
	return NULL;
}
