/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_titles.c: see source_titles.h.
 *
 * Two kinds of texts name a function wherever they stand: a declaration, "int net::open(int)",
 * which checks pass on (__PRETTY_FUNCTION__), and Class::Method, which traces and profilers
 * show. The text is that of the function whose code names it, or of one inlined there. Inlining
 * shows where a name is in several functions or a function has several names: these get none. A
 * template's name is in several functions, too. Of 155 functions of glslangValidator with a
 * declaration, 151 had that name; the texts of the others were those of inlined functions.
 *
 * Where a Class::Method is only a label, it is a person's word for the function: it is a guess.
 */
#define _GNU_SOURCE /* memmem, qsort_r */
#include "source_titles.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "../../src/base/row_order.h"
#include "../names/function_start.h"
#include "../probe/probe_sweep.h"
#include "source_names.h"

enum { LEA_BYTES = 7, TEXT_MAX = 1024, REFERENCES_MAX = 1 << 20 };

/* An instruction that names a title. */
struct title_reference {
	uint64_t code, text;
	uint64_t low, high; /* its function */
	bool alone;         /* the function has no other name */
};
typedef VEC(struct title_reference) references_t;

struct title_search {
	const struct flow_code *code;
	references_t found[SWEEP_WORKERS];
};

/* Returns the length of a text such as nsDocShell::Reload; 0: it is none. The last word begins with
 * a capital and goes on with small letters: kNone, mChild and MAX name no functions. */
static size_t label_length(const char *text)
{
	size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				     "0123456789_:");
	const char *last = text;

	if (text[length] || !isalpha((unsigned char)*text))
		return 0;
	for (const char *at = text; (at = strchr(at, ':')); last = at += 2)
		if (at[1] != ':' || !isalpha((unsigned char)at[2]))
			return 0;
	if (last == text || (strchr("km", *last) && isupper((unsigned char)last[1])))
		return 0;
	for (const char *at = last; *at; at++)
		if (islower((unsigned char)*at))
			return length;
	return 0;
}

/* True if a text has a type of C or C++, which prose such as "delete the item(s)" lacks. */
static bool has_type(const char *text)
{
	static const char *const words[] = { "::",   "void",  "int",	"bool",
					     "char", "float", "double", "long" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(text, words[i]))
			return true;
	return strpbrk(text, "_*&<");
}

/* True for the text of a whole declaration: what stands before a function's name, and between its
 * arguments, is types. */
static bool is_declaration(const char *text, const char *name, size_t length)
{
	static const char *const endings[] = { ")", "const", "]", "&", "noexcept" };
	size_t all = strlen(text);
	bool ends = false;

	if (name[length] != '(' || (name == text && !memmem(name, length, "::", 2)) ||
	    strpbrk(text, "!?%\"\\;\n/$@^|") || !has_type(text))
		return false;
	for (size_t i = 0; i < sizeof(endings) / sizeof(*endings); i++) {
		size_t bytes = strlen(endings[i]);

		ends = ends || (all > bytes && !strcmp(text + all - bytes, endings[i]));
	}
	return ends;
}

const char *source_title_in(const char *text, size_t *length, bool *sure)
{
	const char *name = strchr(text, '(') ? source_name_in(text, length) : NULL;

	*sure = name && is_declaration(text, name, *length);
	if (*sure)
		return name;
	*length = label_length(text);
	return *length ? text : NULL;
}

static const char *title_at(const struct binary *file, uint64_t vaddr, size_t *length)
{
	const char *text = binary_string(file, vaddr, TEXT_MAX);
	bool sure;

	return text ? source_title_in(text, length, &sure) : NULL;
}

static bool take(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct title_search *search = context;
	const uint8_t *first = binary_at(search->code->file, address, 1);
	size_t length;

	if (first && isalpha(*first) && title_at(search->code->file, address, &length))
		*vec_push(&search->found[worker]) =
			(struct title_reference){ .code = vaddr, .text = address };
	return search->found[worker].count < REFERENCES_MAX;
}

ORDER_BY(by_code, struct title_reference, ORDER_UP(code))

static int by_name(const void *a, const void *b, void *context)
{
	const struct title_reference *x = a, *y = b;
	size_t length, other;
	const char *text = title_at(context, x->text, &length),
		   *with = title_at(context, y->text, &other);
	int order = memcmp(text, with, length < other ? length : other);

	if (!order)
		order = (length > other) - (length < other);
	return order ?: (x->low > y->low) - (x->low < y->low);
}

/* True if both texts have one name. */
static bool is_alike(const struct binary *file, uint64_t text, uint64_t with)
{
	size_t length, other;
	const char *a = title_at(file, text, &length), *b = title_at(file, with, &other);

	return length == other && !memcmp(a, b, length);
}

/* Marks the references of functions with one name. They are sorted by address. */
static void find_alone(references_t *all, const struct binary *file)
{
	for (size_t i = 0, next; i < all->count; i = next) {
		bool alone = true;

		for (next = i + 1; next < all->count && all->at[next].low == all->at[i].low; next++)
			alone = alone && is_alike(file, all->at[next].text, all->at[i].text);
		for (size_t k = i; k < next; k++)
			all->at[k].alone = alone;
	}
}

/* Forgets the names that several functions have: they were inlined. A label that one of them has
 * alone is that one's; the others handle several. */
static void forget_inlined(references_t *all, const struct binary *file)
{
	qsort_r(all->at, all->count, sizeof(*all->at), by_name, (void *)file);
	for (size_t i = 0, next; i < all->count; i = next) {
		const struct title_reference *first = &all->at[i];
		uint64_t text = first->text, owner = 0;
		bool several = false, owners = false, sure;
		size_t length;

		for (next = i; next < all->count; next++) {
			const struct title_reference *r = &all->at[next];

			if (!is_alike(file, r->text, text))
				break;
			several = several || r->low != first->low;
			owners = owners || (r->alone && owner && owner != r->low);
			owner = r->alone ? r->low : owner;
		}
		source_title_in(binary_string(file, text, TEXT_MAX), &length, &sure);
		for (size_t k = i; k < next && several; k++)
			if (sure || owners || !all->at[k].alone)
				all->at[k].text = 0;
	}
}

/* Finds the functions of the references, which are sorted. */
static void find_parts(const struct flow_code *code, references_t *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->count; i++) {
		struct title_reference *r = &all->at[i], *last = kept ? &all->at[kept - 1] : NULL;

		if (last && r->code < last->high) {
			r->low = last->low;
			r->high = last->high;
		} else if (!function_part(code, r->code + LEA_BYTES - 1, &r->low, &r->high)) {
			continue;
		}
		if (last && r->low < last->high && r->low != last->low)
			r->low = last->high;
		all->at[kept++] = *r;
	}
	all->count = kept;
}

static bool sweep(const struct flow_code *code, struct title_search *search)
{
	bool whole = true;

	for (size_t i = 0; i < code->file->segment_count && whole; i++) {
		const Elf64_Phdr *segment = &code->file->segments[i];

		if (binary_holds_constants(code->file, segment))
			whole = sweep_code(&(struct probe_sweep){
				.file = code->file,
				.form = SWEEP_ADDRESS,
				.low = segment->p_vaddr,
				.high = segment->p_vaddr +
					binary_room(code->file, segment->p_vaddr),
				.place = take,
				.context = search });
	}
	return whole;
}

/* Adds what a reference says of its function. */
static void add(struct source_functions *functions, const struct title_reference *r)
{
	struct source_function *last =
		functions->titles.count ? &functions->titles.at[functions->titles.count - 1] : NULL;

	if (!r->text)
		return;
	if (!last || r->code >= last->high)
		*vec_push(&functions->titles) =
			(struct source_function){ r->low, r->high, 0, r->text };
	else if (last->name != r->text)
		last->name = 0;
}

bool source_titles_find(const struct flow_code *code, struct source_functions *functions)
{
	struct title_search search = { .code = code };
	references_t all = { 0 };
	bool whole = sweep(code, &search);

	for (size_t i = 0; i < SWEEP_WORKERS; i++) {
		for (size_t k = 0; k < search.found[i].count && whole; k++)
			*vec_push(&all) = search.found[i].at[k];
		free(search.found[i].at);
	}
	if (all.count) {
		qsort(all.at, all.count, sizeof(*all.at), by_code);
		find_parts(code, &all);
		find_alone(&all, code->file);
		forget_inlined(&all, code->file);
		qsort(all.at, all.count, sizeof(*all.at), by_code);
	}
	for (size_t i = 0; i < all.count; i++)
		add(functions, &all.at[i]);
	free(all.at);
	return whole;
}
