/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_err.c: errors carry their text, stay on one line, and can be freed whatever they are.
 */
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>

#include "../../src/base/cleanup.h"
#include "check.h"

static struct shiny_err *fails(bool really)
{
	return really ? shiny_err(SHINY_ERR_STRICT, "no %s", "luck") : NULL;
}

static struct shiny_err *tries(bool really, int *reached)
{
	SHINY_TRY(fails(really));
	*reached = 1;
	return NULL;
}

int main(void)
{
	struct shiny_err *err = shiny_err(SHINY_ERR_USAGE, "cannot read %s: %d", "x", 7);
	int reached = 0;

	check_that("text and code", strcmp(err->message, "cannot read x: 7") == 0 &&
					    err->code == SHINY_ERR_USAGE && !err->advice);
	err = shiny_err_advise(err, "try %s", "y");
	err = shiny_err_advise(err, "try %s", "z");
	check_that("the last advice counts", strcmp(err->advice, "try z") == 0);
	shiny_err_free(err);

	err = shiny_err_os(ENOENT, "cannot open %s", "a\nb\033[1m");
	check_that("system errors say why, on one line",
		   strcmp(err->message, "cannot open a\xe2\x90\x8a"
					"b\xe2\x90\x9b[1m: No such file or directory") == 0 &&
			   err->code == SHINY_ERR_OTHER);
	shiny_err_free(err);
	shiny_err_free(NULL);
	check_that("no advice on success", shiny_err_advise(NULL, "x") == NULL);

	err = tries(false, &reached);
	check_that("SHINY_TRY passes success", !err && reached);
	reached = 0;
	err = tries(true, &reached);
	check_that("SHINY_TRY passes the error", err && !reached && err->code == SHINY_ERR_STRICT);
	shiny_err_free(err);

	char *kept;
	{
		AUTO_FREE char *text = strdup("kept");
		kept = shiny_steal(text);
		check_that("stolen", text == NULL);
	}
	check_that("a stolen pointer outlives its guard", strcmp(kept, "kept") == 0);
	free(kept);
	return failures != 0;
}
