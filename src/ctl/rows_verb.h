/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rows_verb.h: a verb that loads one result of a session and prints its rows, as a table of what it
 * needs: how the result is loaded, and the fields that describe it (answer/field.h).
 *
 * Runs: CLI. Signals: no. Allocates: the result. Threads: one.
 */
#ifndef SHINY_ROWS_VERB_H
#define SHINY_ROWS_VERB_H

#include "../answer/answer.h"
#include "ctl.h"

struct rows_verb {
	const struct field *fields; /* of the result; its list "rows" is the table */
	size_t size;		    /* bytes of the result */
	struct shiny_err *(*load)(struct ctl *ctl, struct store *store, const struct filter *filter,
				  void *result);
	void (*deinit)(void *result);
	enum option_id by; /* the option that says what makes a row; 0: none */
	size_t usual;	   /* most rows on a terminal without --limit; 0: all */
	/* Prints an answer that is not one table; NULL: it is the list "rows". */
	void (*text)(struct ctl *ctl, const struct answer *answer);
	/* Print what stands above and below the table; NULL: nothing. */
	void (*above)(struct ctl *ctl, const void *result);
	void (*below)(struct ctl *ctl, const void *result);
	/* Prints the text itself; NULL: `above`, the table and `below` are the text. */
	struct shiny_err *(*print)(struct ctl *ctl, const struct answer *answer);
	/* With the option `when` the verb is another one; NULL: never. */
	enum option_id when;
	const struct rows_verb *other;
	bool prints_csv; /* `print` does it; else it is the list "rows" */
	const char *next;			       /* the command that goes on */
	const char *(*next_of)(const struct ctl *ctl); /* chooses it; NULL: it is `next` */
};

/* Runs the verb of the options, of whatever kind it is. */
SHINY_MUST_CHECK struct shiny_err *verb_run(struct ctl *ctl);

/* Prints the table of the list "rows", and how many of them it leaves out. */
void rows_verb_table(struct ctl *ctl, const struct answer *answer);

/* A result is freed by a function of its own type: makes one of a void pointer from it. */
#define ROWS_VERB_DEINIT(type, function)  \
	static void deinit(void *result)  \
	{                                 \
		function((type *)result); \
	}

#endif
