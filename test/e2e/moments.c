// SPDX-License-Identifier: Apache-2.0
//
// moments.c: holds other blocks at each of its marks and when it exits, in the way that its
// argument names: return, exit, _exit; fork: in a child, too. peak: holds 4 MB until a byte comes.
// behind COUNT: says "ready PID" before its marks, and waits for a byte; makes and frees so many
// blocks behind them, then holds 100 of 7001 bytes, says "made", and waits for another byte.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <shiny/shiny.h>

static void *held, *always, *large, *many[100];

static void hold(size_t bytes)
{
	free(held);
	held = bytes ? malloc(bytes) : NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";

	if (!strcmp(how, "behind")) {
		printf("ready %d\n", (int)getpid());
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	always = malloc(9001);
	hold(5001);
	shiny_mark("half");
	hold(6001);
	shiny_mark("high");
	hold(8001);
	shiny_mark("other");
	hold(0);
	if (!strcmp(how, "peak")) {
		large = calloc(1, 4000000);
		puts("at its peak");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	if (!strcmp(how, "behind")) {
		for (long i = argc > 2 ? atol(argv[2]) : 0; i > 0; i--)
			free(malloc(64));
		for (int i = 0; i < 100; i++)
			many[i] = malloc(7001);
		puts("made");
		fflush(stdout);
		if (getchar() == EOF)
			return 1;
	}
	if (!strcmp(how, "fork")) {
		int status = 0;
		pid_t child = fork();

		if (!child)
			exit(3);
		if (waitpid(child, &status, 0) != child || WEXITSTATUS(status) != 3)
			return 1;
	}
	if (write(1, "done\n", 5) != 5)
		return 1;
	if (!strcmp(how, "_exit"))
		_exit(7);
	if (!strcmp(how, "exit"))
		exit(7);
	return 7;
}
