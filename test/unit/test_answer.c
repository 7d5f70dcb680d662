/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_answer.c: what is made of a result by its fields: JSON, table, CSV, and the schema's idea of
 * what must be there. The expected texts are written by hand.
 */
#define _GNU_SOURCE
#include "../../src/answer/answer.h"
#include "../../src/answer/answer_schema.h"
#include "../../src/base/mem.h"
#include "check.h"

struct sample_part {
	uint64_t bytes;
	double mean;
};
struct sample_row {
	char *name;
	struct sample_part part;
	uint32_t id;
	int64_t gain;
	bool known;
	uint64_t counts[2];
};
struct sample_result {
	uint64_t total, address;
	struct sample_row *rows;
	size_t count;
	const struct sample_row *best[3];
	size_t best_count;
	struct sample_part parts[2];
	const char *word;
};

static void get_double(const void *row, struct field_value *out)
{
	const struct sample_row *r = row;

	field_set_number(out, 2 * r->part.bytes);
	out->absent = !r->known;
}

static void get_label(const void *row, struct field_value *out)
{
	field_set_owned(out, mem_format("<%s>", ((const struct sample_row *)row)->name));
}

static bool is_true(const void *part)
{
	(void)part;
	return true;
}

FIELD_SKIP(is_empty, struct sample_part, !r->bytes)

/* Rows that have rows like themselves. */
struct sample_node {
	const char *name;
	const struct sample_node *children;
	size_t count;
};

FIELD_SKIP(is_leaf, struct sample_node, !r->count)

/* clang-format off */
static const struct field part_fields[] = {
	{ FIELD_BYTES("bytes", struct sample_part, bytes), .help = "bytes" },
	{ FIELD_REAL("mean", struct sample_part, mean), .help = "a mean" },
	FIELD_LAST
};
static const struct field row_fields[] = {
	{ FIELD_TEXT("name", struct sample_row, name), FIELD_BY_NAME, .help = "a name" },
	{ FIELD_GROUP(struct sample_row, part, part_fields) },
	{ FIELD_SHARE("share", struct sample_row, part.bytes, struct sample_result, total) },
	{ FIELD_ID("row_id", struct sample_row, id), .blank_zero = true, .help = "an id" },
	{ .key = "gain", .kind = FIELD_KIND_BYTES_CHANGE, FIELD_AT(struct sample_row, gain),
	  .help = "a change" },
	{ FIELD_FLAG("known", struct sample_row, known), .help = "a flag" },
	{ FIELD_WORKED_OUT("double", COUNT, get_double), .help = "twice the bytes" },
	{ FIELD_WORKED_OUT("label", TEXT, get_label), .column_only = true },
	{ FIELD_NUMBERS("counts", struct sample_row, counts), .help = "two numbers" },
	FIELD_LAST
};
static const struct field unknown_fields[] = {
	{ FIELD_COUNT("events", struct sample_result, count), .help = "a number" },
	{ FIELD_NUMBERS("bins", struct sample_row, counts), .help = "numbers" },
	FIELD_LAST
};
static const struct field words_fields[] = {
	{ FIELD_TEXT(NULL, struct sample_row, name), .help = "a word" },
	FIELD_LAST
};
static const struct field rare_fields[] = {
	{ FIELD_ROWS("words", struct sample_result, rows, count, words_fields), .bare = true,
	  .limited = true, .help = "words" },
	{ FIELD_TEXT("word", struct sample_result, word), .optional = true, .help = "a text" },
	{ FIELD_SAME(unknown_fields), .skip = is_true, .nulls = true },
	FIELD_LAST
};
static const struct field result_fields[] = {
	{ FIELD_BYTES("total", struct sample_result, total), .help = "all bytes" },
	{ FIELD_ADDRESS("address", struct sample_result, address), .help = "an address" },
	{ FIELD_ROWS("rows", struct sample_result, rows, count, row_fields), .limited = true,
	  .shows = "share/1 bytes mean row_id gain known double label name", .help = "a row" },
	{ FIELD_FIRST("best", struct sample_result, best, best_count, row_fields), .pointers = true,
	  .title = "best", .shows = "bytes/2 name", .help = "a best row" },
	{ FIELD_ARRAY("parts", struct sample_result, parts, part_fields), .skip = is_empty,
	  .help = "a part" },
	{ FIELD_SAME(rare_fields) },
	FIELD_LAST
};
static const struct field node_fields[3];
static const struct field children_fields[] = {
	{ FIELD_ROWS("children", struct sample_node, children, count, node_fields), .again = true,
	  .help = "its children" },
	FIELD_LAST
};
static const struct field node_fields[3] = {
	{ FIELD_TEXT("name", struct sample_node, name), .help = "a name" },
	{ FIELD_SAME(children_fields), .skip = is_leaf, .spread = true },
	FIELD_LAST
};
static const struct field tree_fields[] = {
	{ FIELD_ROWS("nodes", struct sample_node, children, count, node_fields), .help = "a node" },
	FIELD_LAST
};
/* clang-format on */

static char first_name[] = "one, \"two\"", second_name[] = "=three";
static struct sample_row rows[] = {
	{ first_name, { 2048, 1.5 }, 7, -1024, true, { 1, 2 } },
	{ second_name, { 1024, 0 }, 0, 0, false, { 3, 4 } },
	{ NULL, { 0, 0 }, 1, 1, true, { 0, 0 } },
};
static const struct sample_result result = {
	.total = 4096,
	.address = 0x7f00,
	.rows = rows,
	.count = 3,
	.best = { &rows[1] },
	.best_count = 1,
	.parts = { { 0, 0 }, { 5, 0.25 } },
};

/* What a writer prints, to be freed. */
typedef void print_fn(const struct answer *answer, FILE *out);

static void print_json(const struct answer *answer, FILE *out)
{
	struct json json;

	json_init(&json, out);
	json_object_line(&json, NULL);
	shiny_err_free(answer_json(answer, &json));
	json_end(&json);
}

static void print_table(const struct answer *answer, FILE *out)
{
	const struct style style = { .out = out };

	answer_table(answer, "rows", &style);
}

static void print_best(const struct answer *answer, FILE *out)
{
	const struct style style = { .out = out };

	answer_table(answer, "best", &style);
}

static void print_csv(const struct answer *answer, FILE *out)
{
	answer_csv(answer, "rows", out);
}

static void put_member(void *out, const char *path, const struct field *field)
{
	fprintf(out, "%s%s%s ", path, *answer_unit(field) ? ":" : "", answer_unit(field));
}

static void print_members(const struct answer *answer, FILE *out)
{
	answer_members(answer->fields, put_member, out);
}

static void print_schema(const struct answer *answer, FILE *out)
{
	const struct field *const arrays[] = { rare_fields, NULL };
	struct json json;

	(void)answer;
	json_init(&json, out);
	json_object_line(&json, NULL);
	answer_schema(&json, arrays);
	json_end(&json);
}

static void prints(const char *name, print_fn *print, const char *want)
{
	const struct answer answer = {
		.fields = result_fields, .result = &result, .limit = 2, .by = "call site"
	};
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	print(&answer, out);
	fclose(out);
	checkf(name, strcmp(got, want) == 0, "got\n%s\nwant\n%s", got, want);
	free(got);
}

/* --match chooses rows before the limit does, and only in the list that has it. */
static void matched(const struct answer *answer)
{
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	print_csv(answer, out);
	fclose(out);
	checkf("match/rows",
	       strcmp(got, "name,bytes,mean,row_id,gain,known,double\r\n"
			   "\"'=three\",1024,0,0,0,0,\r\n") == 0,
	       "got\n%s", got);
	free(got);
	number("match/count", answer_count(answer, "rows"), 1);
	number("match/another list", answer_count(answer, "best"), 1);
}

/* A row has a line for each member only where its part that says so is there; and rows that have
 * rows like themselves are described once. */
static void nested(void)
{
	static const struct sample_node leaf = { "leaf", NULL, 0 }, nodes[] = {
		{ "branch", &leaf, 1 }, { "bare", NULL, 0 }
	}, root = { "root", nodes, 2 };
	const struct answer answer = { .fields = tree_fields, .result = &root };
	const struct field *const arrays[] = { tree_fields, NULL };
	struct json json;
	char *got = NULL;
	size_t size;
	FILE *out = open_memstream(&got, &size);

	json_init(&json, out);
	json_object(&json, NULL);
	shiny_err_free(answer_json(&answer, &json));
	json_end(&json);
	answer_members(tree_fields, put_member, out);
	json_init(&json, out);
	json_object_line(&json, NULL);
	answer_schema(&json, arrays);
	json_end(&json);
	fclose(out);
	checkf("nested",
	       strcmp(got, "{\n"
			   "  \"nodes\": [\n"
			   "    {\n"
			   "      \"name\": \"branch\",\n"
			   "      \"children\": [\n"
			   "        {\"name\": \"leaf\"}\n"
			   "      ]\n"
			   "    },\n"
			   "    {\"name\": \"bare\"}\n"
			   "  ]\n"
			   "}\n"
			   "nodes[] nodes[].name nodes[].children[] "
			   "{\"properties\": {\"nodes\": {\"type\": \"array\", \"items\": "
			   "{\"type\": \"object\", \"properties\": {\"name\": {\"type\": "
			   "[\"string\", \"null\"], \"description\": \"a name\"}, "
			   "\"children\": {\"type\": \"array\", \"items\": {\"type\": "
			   "\"object\"}, \"description\": \"its children\"}}, \"required\": "
			   "[\"name\"], \"additionalProperties\": false}, \"description\": "
			   "\"a node\"}}, \"required\": [\"nodes\"], "
			   "\"additionalProperties\": false}\n") == 0,
	       "got\n%s", got);
	free(got);
}

int main(void)
{
	static const struct answer only_three = {
		.fields = result_fields, .result = &result, .limit = 1, .match = "three"
	};
	static const struct field wrong = { FIELD_ROWS("rows", struct sample_result, rows, count,
						       row_fields),
					    .shows = "share/1 byte name" };

	prints("json", print_json,
	       "{\"total\": 4096, \"address\": \"0x7f00\", \"rows\": ["
	       "{\"name\": \"one, \\\"two\\\"\", \"bytes\": 2048, \"mean\": 1.5, \"row_id\": 7, "
	       "\"gain\": -1024, \"known\": true, \"double\": 4096, \"counts\": [1, 2]}, "
	       "{\"name\": \"=three\", \"bytes\": 1024, \"mean\": 0, \"row_id\": 0, "
	       "\"gain\": 0, \"known\": false, \"counts\": [3, 4]}], "
	       "\"best\": [{\"name\": \"=three\", \"bytes\": 1024, \"mean\": 0, \"row_id\": 0, "
	       "\"gain\": 0, \"known\": false, \"counts\": [3, 4]}], "
	       "\"parts\": [{\"bytes\": 5, \"mean\": 0.25}], \"words\": "
	       "[\"one, \\\"two\\\"\", \"=three\"], "
	       "\"events\": null, \"bins\": null}\n");
	prints("table", print_table,
	       " share     bytes  mean  row id       gain  known  double  label         call site\n"
	       "50.0 %  2.00 KiB  1.50       7  -1.00 KiB  yes     4,096  <one, \"two\">  one, "
	       "\"two\"\n"
	       "25.0 %  1.00 KiB  0.00                0 B  no             <=three>      =three\n");
	prints("table of pointers", print_best, "   bytes  best\n1.00 KiB  =three\n");
	prints("csv", print_csv,
	       "name,bytes,mean,row_id,gain,known,double\r\n"
	       "\"one, \"\"two\"\"\",2048,1.5,7,-1024,1,4096\r\n"
	       "\"'=three\",1024,0,0,0,0,\r\n");
	prints("members", print_members,
	       "total:bytes address rows[] rows[].name rows[].bytes:bytes rows[].mean "
	       "rows[].row_id rows[].gain:bytes rows[].known rows[].double rows[].counts "
	       "best[] best[].name "
	       "best[].bytes:bytes best[].mean best[].row_id best[].gain:bytes best[].known "
	       "best[].double best[].counts parts[] parts[].bytes:bytes parts[].mean "
	       "words[] word events bins ");
	prints("schema", print_schema,
	       "{\"properties\": {\"words\": {\"type\": \"array\", \"items\": "
	       "{\"type\": [\"string\", \"null\"]}, \"description\": \"words\"}, "
	       "\"word\": {\"type\": [\"string\", \"null\"], \"description\": \"a text\"}, "
	       "\"events\": {\"type\": [\"integer\", \"null\"], "
	       "\"description\": \"a number\"}, "
	       "\"bins\": {\"type\": [\"array\", \"null\"], "
	       "\"items\": {\"type\": \"integer\"}, \"description\": \"numbers\"}}, "
	       "\"required\": [\"words\", \"events\", \"bins\"], "
	       "\"additionalProperties\": false}\n");
	matched(&only_three);
	nested();
	check("unknown column",
	      answer_unknown_column(&wrong) && !strncmp(answer_unknown_column(&wrong), "byte ", 5),
	      "it is not found");
	check("known columns", !answer_unknown_column(&result_fields[2]), "one is not");
	return failures != 0;
}
