/* SPDX-License-Identifier: Apache-2.0 */
/* A command that asks the session by SQL, and prints past its style: check-layers must reject
 * each of these lines. */
static struct shiny_err *ask(struct store *store, struct query **out)
{
	return store_query(store, "SELECT 1", out);
}

static void answer(void)
{
	printf("1 block\n");
	fprintf(stdout, "%s\n", "1 block");
	putc('\n', stdout);
}
