/* SPDX-License-Identifier: Apache-2.0 */
/* A command that asks the session by SQL: check-layers must reject it. */
static struct shiny_err *ask(struct store *store, struct query **out)
{
	return store_query(store, "SELECT 1", out);
}
