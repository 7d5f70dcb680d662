/* SPDX-License-Identifier: Apache-2.0 */
/* stop.c: see stop.h. */
#include "stop.h"

#include <stddef.h>

static volatile sig_atomic_t asked;

static void stop_on_signal(int number)
{
	asked = asked ? 2 : 1;
}

void stop_begin(struct stop_actions *was)
{
	const struct sigaction ask = { .sa_handler = stop_on_signal };
	const struct sigaction ignore = { .sa_handler = SIG_IGN };

	asked = 0;
	sigaction(SIGTERM, &ask, &was->term);
	sigaction(SIGINT, &ignore, &was->interrupt);
	sigaction(SIGHUP, &ignore, &was->hangup);
}

void stop_end(const struct stop_actions *was)
{
	sigaction(SIGTERM, &was->term, NULL);
	sigaction(SIGINT, &was->interrupt, NULL);
	sigaction(SIGHUP, &was->hangup, NULL);
}

bool stop_asked(void)
{
	return asked;
}

bool stop_hurried(void)
{
	return asked > 1;
}
