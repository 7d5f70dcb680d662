/* SPDX-License-Identifier: Apache-2.0 */
/* test_types_combine.c: every row of the table of type_combine.c, and the names of rules, forms and
 * confidences. */
#include <stdio.h>
#include <string.h>

#include "../../symbolizer/sym.h"
#include "check.h"

/* the rows name what matters in them */
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"

static struct sym *sym;

enum when { SETTLED, YOUNG, DYING };

/* What the site says; name NULL: nothing. */
struct site {
	const char *name;
	enum sym_rule rule;
	enum sym_form form;
	enum sym_confidence confidence;
	uint64_t bytes;
	bool or_derived;
	const char *leading;
};
/* What the vptr says; name NULL: none was read. */
struct vptr {
	const char *name;
	enum when when;
	uint64_t bytes;
	enum sym_vtable_source source; /* NONE: a symbol */
	bool second;
	int64_t offset;
};
struct expected {
	const char *name;
	enum sym_rule rule;
	enum sym_confidence confidence;
	bool or_derived;
	enum sym_form form;
};

static const struct row {
	const char *what;
	struct site site;
	struct vptr vptr;
	struct sym_sizes sizes;
	struct expected out;
} rows[] = {
#define ONE(n) { n, n, 0 }
	{ "nothing known", { 0 }, { 0 }, ONE(24), { 0 } },
	{ "site only",
	  { "A", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { 0 },
	  ONE(24),
	  { "A", SYM_RULE_CONSTRUCTOR, SYM_EXACT } },
	{ "site's label only",
	  { "in f()", 0, 0, SYM_LABEL },
	  { 0 },
	  ONE(24),
	  { "in f()", 0, SYM_LABEL } },
	{ "nameless vtable, no site",
	  { 0 },
	  { "a.so!vtable+0x8", SETTLED, 0, SYM_VTABLE_LABEL },
	  ONE(24),
	  { "a.so!vtable+0x8", SYM_RULE_VPTR, SYM_LABEL } },
	{ "nameless vtable, site's label",
	  { "in f()", 0, 0, SYM_LABEL },
	  { "a.so!vtable+0x8", SETTLED, 0, SYM_VTABLE_LABEL },
	  ONE(24),
	  { "a.so!vtable+0x8", SYM_RULE_VPTR, SYM_LABEL } },
	{ "nameless vtable, site",
	  { "A", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "a.so!vtable+0x8", SETTLED, 24, SYM_VTABLE_LABEL },
	  ONE(24),
	  { "A", SYM_RULE_VARIABLE, SYM_MEDIUM } },
	{ "construction vtable, no site",
	  { 0 },
	  { "D", SETTLED, 24, SYM_VTABLE_BUILDING },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_LOW, true } },
	{ "construction vtable, site",
	  { "A", SYM_RULE_VARIABLE, 0, SYM_LOW, 24 },
	  { "D", SETTLED, 24, SYM_VTABLE_BUILDING },
	  ONE(24),
	  { "A", SYM_RULE_VARIABLE, SYM_LOW } },
	{ "from inside an object, no site",
	  { 0 },
	  { "D", SETTLED, 24, 0, false, -16 },
	  ONE(24),
	  { "part of D", SYM_RULE_VPTR, SYM_LABEL } },
	{ "from inside an object, site",
	  { "A", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { "D", SETTLED, 24, 0, false, -16 },
	  ONE(24),
	  { "A", SYM_RULE_CONSTRUCTOR, SYM_EXACT } },

	{ "vptr, size fits",
	  { 0 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_EXACT } },
	{ "vptr by RTTI, size fits",
	  { 0 },
	  { "D", SETTLED, 24, SYM_VTABLE_RTTI },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_EXACT } },
	{ "vptr before a site's label",
	  { "storage of X", 0, 0, SYM_LABEL },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_EXACT } },
	{ "vptr, class size unknown",
	  { 0 },
	  { "D", SETTLED },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM } },
	{ "vptr, class size unknown, sizes differ",
	  { 0 },
	  { "D", SETTLED },
	  { 24, 96, 24 },
	  { "D", SYM_RULE_VPTR, SYM_LOW } },
	{ "young vptr, size fits",
	  { 0 },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM, true } },
	{ "young vptr, size unknown",
	  { 0 },
	  { "D", YOUNG },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM, true } },
	{ "young vptr, size unknown, sizes differ",
	  { 0 },
	  { "D", YOUNG },
	  { 24, 32, 8 },
	  { "D", SYM_RULE_VPTR, SYM_LOW, true } },
	{ "dying vptr, size fits",
	  { 0 },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_LOW, true } },
	{ "dying vptr, size unknown",
	  { 0 },
	  { "D", DYING },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_LOW, true } },
	{ "larger blocks",
	  { 0 },
	  { "D", SETTLED, 24 },
	  ONE(48),
	  { "starts with D", SYM_RULE_VPTR, SYM_LABEL } },
	{ "blocks of more sizes",
	  { 0 },
	  { "D", SETTLED, 24 },
	  { 24, 48, 24 },
	  { "starts with D", SYM_RULE_VPTR, SYM_LABEL } },
	{ "blocks too small", { 0 }, { "D", SETTLED, 24 }, ONE(16), { 0 } },
	{ "blocks too small, label",
	  { "in f()", 0, 0, SYM_LABEL },
	  { "D", SETTLED, 24 },
	  ONE(16),
	  { "in f()", 0, SYM_LABEL } },

	{ "agree",
	  { "D", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "D", SETTLED },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_EXACT } },
	{ "agree but for a lambda's name",
	  { "Task<f::{lambda at a.cc:3}>", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH, 24 },
	  { "Task<f::$_0>", SETTLED },
	  ONE(24),
	  { "Task<f::{lambda at a.cc:3}>", SYM_RULE_BOTH, SYM_HIGH } },
	{ "agree but for a numbered lambda",
	  { "Task<f::{lambda at a.cc:3}>", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "Task<f::{lambda(int)#2}>", SETTLED, 24 },
	  ONE(24),
	  { "Task<f::{lambda at a.cc:3}>", SYM_RULE_BOTH, SYM_MEDIUM } },
	{ "lambdas of two functions",
	  { "Task<f::{lambda at a.cc:3}>", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "Task<g::$_0>", SETTLED, 24 },
	  ONE(24),
	  { "Task<g::$_0>", SYM_RULE_VPTR, SYM_MEDIUM } },
	{ "agree, young",
	  { "D", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_EXACT } },
	{ "agree, dying",
	  { "D", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_MEDIUM } },
	{ "agree, a ring of them",
	  { "D", SYM_RULE_CONSTRUCTOR, SYM_FORM_ARRAY, SYM_HIGH, 24 },
	  { "D", SETTLED, 24 },
	  ONE(240),
	  { "D", SYM_RULE_BOTH, SYM_HIGH, false, SYM_FORM_ARRAY } },
	{ "by symbol, agree, fits",
	  { "D", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_EXACT } },
	{ "by symbol, agree, size unknown",
	  { "D", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", SETTLED },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_MEDIUM } },
	{ "by symbol, agree, dying",
	  { "D", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_MEDIUM } },
	{ "by symbol, agree, larger",
	  { "D", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", SETTLED, 24 },
	  ONE(48),
	  { "starts with D", SYM_RULE_VPTR, SYM_LABEL } },
	{ "agree but for spelling",
	  { "std::map<int, std::less<int>>", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { "std::map<int, std::less<int> >", SETTLED, 24 },
	  ONE(24),
	  { "std::map<int, std::less<int>>", SYM_RULE_BOTH, SYM_EXACT } },
	{ "agree, a buffer",
	  { "D", SYM_RULE_ALLOCATOR, SYM_FORM_BUFFER, SYM_EXACT, 24 },
	  { "D", SETTLED, 24 },
	  { 24, 96, 24 },
	  { "D", SYM_RULE_BOTH, SYM_EXACT, false, SYM_FORM_BUFFER } },
	{ "derived or itself: itself",
	  { "D", SYM_RULE_VARIABLE, 0, SYM_LOW, 24, true },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_EXACT } },
	{ "derived or itself, young",
	  { "D", SYM_RULE_VARIABLE, 0, SYM_LOW, 24, true },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_LOW, true } },
	{ "derived or itself, dying",
	  { "D", SYM_RULE_VARIABLE, 0, SYM_LOW, 24, true },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "D", SYM_RULE_BOTH, SYM_LOW, true } },

	{ "first member",
	  { "Wrap", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24, false, "D" },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "Wrap", SYM_RULE_CONSTRUCTOR, SYM_EXACT } },
	{ "base, young",
	  { "Derived", SYM_RULE_VARIABLE, 0, SYM_LOW, 24, true, "D" },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "Derived", SYM_RULE_VARIABLE, SYM_LOW, true } },
	{ "allocator",
	  { "int", SYM_RULE_ALLOCATOR, SYM_FORM_BUFFER, SYM_EXACT, 4 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "int", SYM_RULE_ALLOCATOR, SYM_EXACT, false, SYM_FORM_BUFFER } },
	{ "the compiler's word",
	  { "A", SYM_RULE_ALLOC_TYPE, 0, SYM_EXACT, 24 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "A", SYM_RULE_ALLOC_TYPE, SYM_EXACT } },
	{ "other size",
	  { "A", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 48 },
	  { "D", SETTLED, 24 },
	  ONE(48),
	  { "A", SYM_RULE_CONSTRUCTOR, SYM_EXACT } },
	{ "too small for it",
	  { "A", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 16 },
	  { "D", SETTLED, 24 },
	  ONE(16),
	  { "A", SYM_RULE_VARIABLE, SYM_MEDIUM } },
	{ "derived, fits",
	  { "B", SYM_RULE_VARIABLE, 0, SYM_LOW, 16, true },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_EXACT } },
	{ "derived, size unknown",
	  { "B", SYM_RULE_VARIABLE, 0, SYM_LOW, 16, true },
	  { "D", SETTLED },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_HIGH } },
	{ "derived, young",
	  { "B", SYM_RULE_VARIABLE, 0, SYM_LOW, 16, true },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM, true } },
	{ "derived, dying",
	  { "B", SYM_RULE_VARIABLE, 0, SYM_LOW, 16, true },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_LOW, true } },
	{ "derived, dying, surer site",
	  { "B", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 16, true },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "B", SYM_RULE_VARIABLE, SYM_MEDIUM, true } },
	{ "base's constructor",
	  { "B", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_HIGH } },
	{ "base's vtable stored",
	  { "B", SYM_RULE_STORE, 0, SYM_HIGH, 24 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_HIGH } },
	{ "constructor by symbol, fits",
	  { "B", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM } },
	{ "constructor, size unknown",
	  { "B", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { "D", SETTLED },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM } },
	{ "constructor, young",
	  { "B", SYM_RULE_CONSTRUCTOR, 0, SYM_EXACT, 24 },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "B", SYM_RULE_CONSTRUCTOR, SYM_EXACT } },
	{ "constructor by symbol, young",
	  { "B", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", YOUNG },
	  ONE(24),
	  { "B", SYM_RULE_CONSTRUCTOR, SYM_MEDIUM } },
	{ "constructor by symbol, dying",
	  { "B", SYM_RULE_CONSTRUCTOR, 0, SYM_HIGH },
	  { "D", DYING, 24 },
	  ONE(24),
	  { "B", SYM_RULE_CONSTRUCTOR, SYM_MEDIUM } },
	{ "array, fits",
	  { "char", SYM_RULE_VARIABLE, SYM_FORM_ARRAY, SYM_MEDIUM, 1 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM } },
	{ "sure array, fits",
	  { "char", SYM_RULE_FUNCTION, SYM_FORM_ARRAY, SYM_EXACT, 1 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "char", SYM_RULE_FUNCTION, SYM_EXACT, false, SYM_FORM_ARRAY } },
	{ "variable, fits",
	  { "A", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "D", SETTLED, 24 },
	  ONE(24),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM } },
	{ "variable, size unknown",
	  { "A", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "D", SETTLED },
	  ONE(24),
	  { "A", SYM_RULE_VARIABLE, SYM_MEDIUM } },
	{ "variable, young",
	  { "A", SYM_RULE_VARIABLE, 0, SYM_MEDIUM, 24 },
	  { "D", YOUNG, 24 },
	  ONE(24),
	  { "A", SYM_RULE_VARIABLE, SYM_MEDIUM } },

	{ "cookie, fits",
	  { 0 },
	  { "D", SETTLED, 24, 0, true },
	  { 56, 104, 24 },
	  { "D", SYM_RULE_VPTR, SYM_EXACT, false, SYM_FORM_ARRAY } },
	{ "cookie, size unknown",
	  { 0 },
	  { "D", SETTLED, 0, 0, true },
	  { 56, 104, 24 },
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM, false, SYM_FORM_ARRAY } },
	{ "cookie, no multiple",
	  { 0 },
	  { "D", SETTLED, 24, 0, true },
	  ONE(50),
	  { "starts with D", SYM_RULE_VPTR, SYM_LABEL } },
	{ "cookie, agree",
	  { "D", SYM_RULE_CONSTRUCTOR, SYM_FORM_ARRAY, SYM_HIGH, 24 },
	  { "D", SETTLED, 24, 0, true },
	  ONE(56),
	  { "D", SYM_RULE_BOTH, SYM_EXACT, false, SYM_FORM_ARRAY } },
	{ "cookie, symbol, dying",
	  { "D", SYM_RULE_CONSTRUCTOR, SYM_FORM_ARRAY, SYM_HIGH },
	  { "D", DYING, 24, 0, true },
	  ONE(56),
	  { "D", SYM_RULE_BOTH, SYM_MEDIUM, false, SYM_FORM_ARRAY } },
	{ "cookie, sure site",
	  { "A", SYM_RULE_CONSTRUCTOR, SYM_FORM_ARRAY, SYM_HIGH, 24 },
	  { "D", SETTLED, 24, 0, true },
	  ONE(56),
	  { "A", SYM_RULE_CONSTRUCTOR, SYM_HIGH, false, SYM_FORM_ARRAY } },
	{ "cookie, unsure site",
	  { "A", SYM_RULE_VARIABLE, SYM_FORM_ARRAY, SYM_MEDIUM, 24 },
	  { "D", SETTLED, 24, 0, true },
	  ONE(56),
	  { "D", SYM_RULE_VPTR, SYM_MEDIUM, false, SYM_FORM_ARRAY } },
};

static void count_line(void *context, unsigned depth, const char *text)
{
	*(unsigned *)context += *text != 0;
}

static void test_row(const struct row *row)
{
	struct sym_vtable vtable = { .source = row->vptr.source ? row->vptr.source
								: SYM_VTABLE_SYMBOL,
				     .type = row->vptr.name,
				     .class_bytes = row->vptr.bytes,
				     .offset_to_top = row->vptr.offset };
	struct sym_reading reading = { row->vptr.name ? &vtable : NULL, row->vptr.when == YOUNG,
				       row->vptr.when == DYING, row->vptr.second };
	struct sym_type site = { .type = row->site.name,
				 .rule = row->site.rule,
				 .form = row->site.form,
				 .confidence = row->site.confidence,
				 .bytes = row->site.bytes,
				 .or_derived = row->site.or_derived,
				 .leading = &row->site.leading,
				 .leading_count = row->site.leading != NULL };
	struct sym_type out, again;
	unsigned lines = 0;
	struct sym_evidence evidence = { count_line, &lines };
	bool named;

	sym_type_combine(sym, &site, &reading, &row->sizes, &out, NULL);
	sym_type_combine(sym, &site, &reading, &row->sizes, &again, &evidence);
	named = out.type && row->out.name ? !strcmp(out.type, row->out.name)
					  : out.type == row->out.name;
	checkf(row->what,
	       named &&
		       (!out.type ||
			(out.rule == row->out.rule && out.confidence == row->out.confidence &&
			 out.or_derived == row->out.or_derived && out.form == row->out.form)) &&
		       out.type == again.type && !lines == !row->vptr.name,
	       "%s, %s, %s, %s%s; %u lines", out.type ? out.type : "nothing",
	       sym_rule_name(out.rule), sym_confidence_name(out.confidence),
	       sym_form_name(out.form), out.or_derived ? ", or derived" : "", lines);
}

int main(void)
{
	bool named = true;

	if (sym_create(NULL, &sym))
		return 1;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		test_row(&rows[i]);
	for (int i = 0; i <= SYM_RULE_LEARNED; i++)
		named &= sym_rule_name((enum sym_rule)i) != NULL;
	check_that("every rule has a name", named && !strcmp(sym_rule_name(SYM_RULE_BOTH), "both"));
	check_that("forms have names", !strcmp(sym_form_name(SYM_FORM_BUFFER), "buffer") &&
					       !strcmp(sym_form_name(SYM_FORM_OBJECT), "object"));
	check_that("confidences have names",
		   !strcmp(sym_confidence_name(SYM_EXACT), "exact") &&
			   !strcmp(sym_confidence_name(SYM_LABEL), "label"));
	sym_destroy(sym);
	return failures != 0;
}
