/* SPDX-License-Identifier: Apache-2.0 */
/*
 * verb_body.h: the body of a verb: a function, or, for a verb that loads one result of a session
 * and shows it, how the result is loaded and the fields that describe it (answer/field.h).
 *
 * Runs: CLI. Signals: no. Allocates: the result. Threads: one.
 */
#ifndef SHINY_VERB_BODY_H
#define SHINY_VERB_BODY_H

#include "../answer/answer.h"
#include "ctl.h"

struct verb_body {
	struct shiny_err *(*run)(struct ctl *ctl); /* does it all; NULL: the rest describes it */
	const struct field *fields; /* of the result; its list "rows" is the table */
	bool has_losses;	    /* the fields have the losses; else they end the document */
	size_t size;		    /* bytes of the result */
	struct shiny_err *(*load)(struct ctl *ctl, struct store *store, const struct filter *filter,
				  void *result);
	void (*deinit)(void *result);
	bool match;	   /* --match chooses among the rows; else `load` sees to it */
	size_t usual;	   /* most rows on a terminal without --limit; 0: all */
	/* Print what stands above and below the table; NULL: nothing. */
	void (*above)(struct ctl *ctl, const void *result);
	void (*below)(struct ctl *ctl, const void *result);
	/* Prints the text itself; NULL: `above`, the table and `below` are the text. */
	struct shiny_err *(*print)(struct ctl *ctl, const struct answer *answer);
	bool prints_csv; /* `print` does it; else it is the list "rows" */
	bool no_session; /* `load` opens what it reads: its store and filter are empty */
	/* Another body, which answers instead where it `fits`; NULL: none. */
	const struct verb_body *instead;
	bool (*fits)(const struct ctl *ctl);
	const char *when; /* it fits, for the manual: "With several sessions" */
	const char *needs; /* knowledge of every block, for the message that refuses a sample;
			    * NULL: a sample can answer */
	const char *next;			       /* the command that goes on */
	const char *(*next_of)(const struct ctl *ctl); /* chooses it; NULL: it is `next` */
};

SHINY_MUST_CHECK struct shiny_err *verb_body_run(struct ctl *ctl, const struct verb_body *verb);

/* Fails if the session has only a sample of the blocks; `needs` as above. */
SHINY_MUST_CHECK struct shiny_err *verb_body_whole(const struct ctl *ctl, struct store *store,
						   const char *needs);

/* Prints the table of the list "rows", and how many of them it leaves out. */
void verb_body_table(struct ctl *ctl, const struct answer *answer);

/* A result is freed by a function of its own type: makes FUNCTION_result from it, of a void
 * pointer. */
#define VERB_BODY_DEINIT(type, function)           \
	static void function##_result(void *result) \
	{                                           \
		function((type *)result);           \
	}

#endif
