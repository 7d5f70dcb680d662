/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "match.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/function_name.h"
#include "../../base/mem.h"
#include "../../base/row_order.h"
#include "../../base/text.h"
#include "match_calls.h"

const char *const match_names[MATCH_HOWS] = {
	[MATCH_ONLY] = "only",	       [MATCH_NAME] = "name",	[MATCH_ADDRESS] = "address",
	[MATCH_ORDER] = "order",       [MATCH_MOVED] = "moved", [MATCH_CALLS] = "calls",
	[MATCH_TOGETHER] = "together",
};

#define NO_ROW UINT32_MAX
enum { ALIGN_MOST = 2000 }; /* most sites of a function to align; more are paired by lines only */

/* ---- rows ---- */

struct matching {
	const struct breakdown *const *breakdowns;
	struct match out;
	size_t room;
};

static size_t count_of(const struct matching *m, int side, enum breakdown_by by)
{
	return m->breakdowns[side] ? m->breakdowns[side]->names[by].count : 0;
}

static uint32_t add_row(struct matching *m, enum match_how how)
{
	m->out.rows = mem_reach(m->out.rows, &m->room, m->out.count, sizeof(*m->out.rows), 256);
	m->out.rows[m->out.count] = (struct match_row){ .how = how };
	return (uint32_t)m->out.count++;
}

/* Adds a name to a row, which takes the newer session's name. */
static void join(struct matching *m, uint32_t row, int side, uint32_t place, const char *name)
{
	struct match_row *r = &m->out.rows[row];

	if (!r->name || (side == 1 && !r->members[1])) {
		free(r->name);
		r->name = mem_text(name);
	}
	r->members[side]++;
	m->out.row_of[side][place] = row;
}

static void begin(struct matching *m, enum breakdown_by by)
{
	for (int side = 0; side < 2; side++) {
		size_t count = count_of(m, side, by);

		m->out.row_of[side] = mem_alloc((count + 1) * sizeof(uint32_t));
		memset(m->out.row_of[side], 0xff, (count + 1) * sizeof(uint32_t));
	}
}

/* ---- types, components, roles ---- */

static const struct breakdown_module *module_named(const struct breakdown *c, const char *name,
						   size_t length)
{
	for (size_t i = 1; i < c->module_count; i++)
		if (c->modules[i].name && strlen(c->modules[i].name) == length &&
		    strncmp(c->modules[i].name, name, length) == 0)
			return &c->modules[i];
	return NULL;
}

static bool same_file(const struct breakdown_module *a, const struct breakdown_module *b)
{
	return a && b && a->build_id && b->build_id && *a->build_id &&
	       strcmp(a->build_id, b->build_id) == 0;
}

/* Returns the key by which a name is matched. `other`: the other session, or NULL. */
static char *key_of(const struct breakdown *c, const struct breakdown *other, enum breakdown_by by,
		    uint32_t place)
{
	const char *name = c->names[by].at[place], *rest = name, *start, *address;
	size_t program = c->program ? strlen(c->program) : 0;
	bool ours = false;

	if (by == BREAKDOWN_TYPE && c->labels[place] && *rest == '(')
		rest++;
	start = rest;
	if (program && strncmp(rest, c->program, program) == 0 &&
	    (!rest[program] || strchr(",!+)", rest[program]))) {
		rest += program;
		ours = true;
	}
	address = by == BREAKDOWN_TYPE && c->labels[place] ? strstr(start, "+0x") : NULL;
	if (address && other) {
		size_t length = strcspn(start, "!+");
		const struct breakdown_module *mine = module_named(c, start, length),
					      *theirs = NULL;

		for (size_t i = 1; mine && !theirs && i < other->module_count; i++)
			if (other->modules[i].key && strcmp(other->modules[i].key, mine->key) == 0)
				theirs = &other->modules[i];
		if (!same_file(mine, theirs))
			return mem_format("%s%.*s+?%s", ours ? "*" : "", (int)(address - rest),
					  rest,
					  address + 3 + strspn(address + 3, "0123456789abcdef"));
	}
	return mem_format("%s%s", ours ? "*" : "", ours ? rest : name);
}

/* Names rows of several types that only differ by their vtables' addresses: "(prog!vtable+…)". */
static void name_together(struct matching *m, enum breakdown_by by)
{
	for (size_t i = 0; i < m->out.count; i++) {
		struct match_row *row = &m->out.rows[i];
		const char *address = strstr(row->name, "+0x");

		if (row->members[0] <= 1 && row->members[1] <= 1)
			continue;
		row->how = MATCH_TOGETHER;
		if (address) {
			const char *rest =
				address + 3 + strspn(address + 3, "0123456789abcdef");
			/* without the address, which belongs to one of them */
			char *name = mem_format("%.*s+\xe2\x80\xa6%s", (int)(address - row->name),
						row->name, *rest == ' ' ? "" : rest);

			free(row->name);
			row->name = name;
		}
	}
}

static void match_by_name(struct matching *m, enum breakdown_by by)
{
	struct texts keys = { 0 };

	for (int side = 0; side < 2; side++)
		for (uint32_t i = 0; i < count_of(m, side, by); i++) {
			char *key = key_of(m->breakdowns[side], m->breakdowns[!side], by, i);
			uint32_t row = texts_put(&keys, key);

			free(key);
			if (row == m->out.count)
				add_row(m, MATCH_NAME);
			join(m, row, side, i, m->breakdowns[side]->names[by].at[i]);
		}
	texts_deinit(&keys);
	name_together(m, by);
}

/* ---- call sites ---- */

static struct match_feature *features_of(const struct breakdown *c, const uint32_t *type_rows)
{
	struct match_feature *features =
		mem_zero(c->names[BREAKDOWN_SITE].count, sizeof(*features));
	uint64_t *most = mem_zero(c->names[BREAKDOWN_SITE].count, sizeof(*most));

	for (size_t i = 0; i < c->cell_count; i++) {
		const struct breakdown_cell *cell = &c->cells[i];
		struct match_feature *f = &features[cell->of[BREAKDOWN_SITE]];

		if (!f->present || cell->least_size < f->least_size)
			f->least_size = cell->least_size;
		if (cell->most_size > f->most_size)
			f->most_size = cell->most_size;
		f->present = true;
		f->allocs += cell->sums.allocs;
		if (cell->sums.allocs >= most[cell->of[BREAKDOWN_SITE]]) {
			most[cell->of[BREAKDOWN_SITE]] = cell->sums.allocs;
			f->type = type_rows[cell->of[BREAKDOWN_TYPE]];
		}
	}
	free(most);
	return features;
}

/* Returns the length of a function's name without the marks of compilers' clones. */
static size_t without_clone(const char *function)
{
	static const char *const marks[] = { " [clone", ".constprop.", ".isra.", ".part.",
					     ".cold",	".lto_priv.",  ".llvm." };
	size_t length = strlen(function);

	for (size_t i = 0; i < sizeof(marks) / sizeof(*marks); i++) {
		const char *mark = strstr(function, marks[i]);

		if (mark && (size_t)(mark - function) < length)
			length = (size_t)(mark - function);
	}
	return length;
}

/* Returns the function's name without parameters; lambdas lose their numbers. */
static char *bare_name(const char *function)
{
	const char *start = function_name_start(function);
	char *name = mem_format("%.*s", (int)function_name_length(start), start), *to = name;

	for (const char *from = name; *from; from++) {
		*to++ = *from;
		if (*from == '#')
			while (from[1] >= '0' && from[1] <= '9')
				from++;
	}
	*to = 0;
	return name;
}

enum match_key { KEY_SAME_FILE, KEY_FUNCTION, KEY_BARE };

struct site_matching {
	struct matching *m;
	const struct match_feature *features[2];
	bool *known[2]; /* module → the other session has the same file */
	enum match_how how, how_of_several;
};

/* Returns the key of a site; NULL: it has none of this kind. Sites in the same file match by line
 * or address. */
static char *site_key(const struct site_matching *m, int side, const struct breakdown_site *s,
		      enum match_key kind)
{
	const struct breakdown_module *module = &m->m->breakdowns[side]->modules[s->module];
	char *bare, *key;

	if (m->known[side][s->module] != (kind == KEY_SAME_FILE))
		return NULL;
	if (kind == KEY_SAME_FILE)
		return s->function ? mem_format("%s\1%s\1%s\1%u", module->build_id, s->function,
						s->file ? s->file : "", s->line)
				   : mem_format("%s\1%llx", module->build_id,
						(unsigned long long)s->vaddr);
	if (!s->function)
		return NULL;
	if (kind == KEY_FUNCTION)
		return mem_format("%s\1%.*s\1%s", module->key ? module->key : "",
				  (int)without_clone(s->function), s->function,
				  s->file ? text_base(s->file) : "");
	bare = bare_name(s->function);
	key = mem_format("%s\1%s", module->key ? module->key : "", bare);
	free(bare);
	return key;
}

struct match_member {
	uint32_t key, site, line;
	const char *path;
};

/* Two files of one name may be in different directories. */
ORDER_BY(by_key_and_place, struct match_member, ORDER_UP(key) ?: ORDER_UP(line) ?: ORDER_TEXT(path))

static void pair(const struct site_matching *s, uint32_t base, uint32_t new, enum match_how how)
{
	uint32_t row =
		add_row(s->m, how == MATCH_ADDRESS && s->m->breakdowns[0]->sites[base].function
				      ? MATCH_NAME
				      : how);

	join(s->m, row, 0, base, s->m->breakdowns[0]->names[BREAKDOWN_SITE].at[base]);
	join(s->m, row, 1, new, s->m->breakdowns[1]->names[BREAKDOWN_SITE].at[new]);
}

/* Scores how likely two sites of a function are the same. Every pair scores above 0: any is better
 * than none. */
static int likeness(const struct site_matching *s, const struct match_member *a,
		    const struct match_member *first_a, const struct match_member *last_a,
		    const struct match_member *b, const struct match_member *first_b,
		    const struct match_member *last_b)
{
	const struct match_feature *x = &s->features[0][a->site], *y = &s->features[1][b->site];
	int score = 8;

	score += x->type == y->type ? 6 : 0;
	score += x->least_size == y->least_size && x->most_size == y->most_size ? 4 : 0;
	score += x->allocs == y->allocs ? 2 : 0;
	score += a->line == b->line || a->line - first_a->line == b->line - first_b->line ||
				 last_a->line - a->line == last_b->line - b->line
			 ? 2
			 : 0;
	return score;
}

/* Pairs the sites of one function: pairs keep the order of `a` and `b`, and the sum of their
 * likenesses is the highest. */
static void align(const struct site_matching *s, const struct match_member *a, size_t n,
		  const struct match_member *b, size_t m)
{
	size_t wide = m + 1;
	int *best;

	if (n == 1 && m == 1) {
		pair(s, a->site, b->site, s->how);
		return;
	}
	if (n > ALIGN_MOST || m > ALIGN_MOST) {
		for (size_t i = 0, j = 0; i < n && j < m;) {
			if (a[i].line == b[j].line)
				pair(s, a[i++].site, b[j++].site, s->how_of_several);
			else if (a[i].line < b[j].line)
				i++;
			else
				j++;
		}
		return;
	}
	best = mem_zero((n + 1) * wide, sizeof(*best));
	for (size_t i = n; i-- > 0;)
		for (size_t j = m; j-- > 0;) {
			int paired = best[(i + 1) * wide + j + 1] +
				     likeness(s, &a[i], a, &a[n - 1], &b[j], b, &b[m - 1]);
			int most = best[(i + 1) * wide + j] > best[i * wide + j + 1]
					   ? best[(i + 1) * wide + j]
					   : best[i * wide + j + 1];

			best[i * wide + j] = paired > most ? paired : most;
		}
	for (size_t i = 0, j = 0; i < n && j < m;) {
		if (best[i * wide + j] == best[(i + 1) * wide + j])
			i++;
		else if (best[i * wide + j] == best[i * wide + j + 1])
			j++;
		else
			pair(s, a[i++].site, b[j++].site, s->how_of_several);
	}
	free(best);
}

/* Returns a session's sites with a key and without a row, sorted by key and place in the source. */
static struct match_member *members_of(const struct site_matching *s, int side, enum match_key kind,
				       struct texts *keys, size_t *count)
{
	const struct breakdown *c = s->m->breakdowns[side];
	struct match_member *members =
		mem_alloc((c->names[BREAKDOWN_SITE].count + 1) * sizeof(*members));

	*count = 0;
	for (uint32_t i = 1; i < c->names[BREAKDOWN_SITE].count; i++) {
		char *key = s->m->out.row_of[side][i] == NO_ROW && s->features[side][i].present
				    ? site_key(s, side, &c->sites[i], kind)
				    : NULL;

		if (!key)
			continue;
		members[(*count)++] =
			(struct match_member){ texts_put(keys, key), i, c->sites[i].line,
					       c->sites[i].file ? c->sites[i].file : "" };
		free(key);
	}
	if (*count)
		qsort(members, *count, sizeof(*members), by_key_and_place);
	return members;
}

static void match_sites_by(struct site_matching *s, enum match_key kind, enum match_how how,
			   enum match_how how_of_several)
{
	struct texts keys = { 0 };
	struct match_member *members[2];
	size_t counts[2], i = 0, j = 0;

	s->how = how;
	s->how_of_several = how_of_several;
	for (int side = 0; side < 2; side++)
		members[side] = members_of(s, side, kind, &keys, &counts[side]);
	while (i < counts[0] && j < counts[1]) {
		const struct match_member *a = &members[0][i], *b = &members[1][j];
		size_t n = 1, m = 1;

		while (i + n < counts[0] && a[n].key == a->key)
			n++;
		while (j + m < counts[1] && b[m].key == b->key)
			m++;
		if (a->key == b->key)
			align(s, a, n, b, m);
		i += a->key <= b->key ? n : 0;
		j += b->key <= a->key ? m : 0;
	}
	free(members[0]);
	free(members[1]);
	texts_deinit(&keys);
}

static void take_calls(void *context, const uint32_t *const sites[2], const size_t counts[2])
{
	struct site_matching *s = context;
	bool one = counts[0] == 1 && counts[1] == 1;
	uint32_t row = add_row(s->m, one ? MATCH_CALLS : MATCH_TOGETHER);

	for (int side = 0; side < 2; side++)
		for (size_t i = 0; i < counts[side]; i++)
			join(s->m, row, side, sites[side][i],
			     s->m->breakdowns[side]->names[BREAKDOWN_SITE].at[sites[side][i]]);
	if (!one) {
		char *name = mem_format("%s and %zu more", s->m->out.rows[row].name,
					(counts[0] > counts[1] ? counts[0] : counts[1]) - 1);

		free(s->m->out.rows[row].name);
		s->m->out.rows[row].name = name;
	}
}

static bool *known_modules(const struct breakdown *c, const struct breakdown *other)
{
	bool *known = mem_zero(c->module_count, sizeof(*known));

	for (size_t i = 1; i < c->module_count; i++)
		for (size_t k = 1; k < other->module_count && !known[i]; k++)
			known[i] = same_file(&c->modules[i], &other->modules[k]);
	return known;
}

/* Returns the sites to match by calls: without a name or row, in a file that the other session
 * lacks. */
static bool *open_sites(const struct site_matching *s, int side, size_t *count)
{
	const struct breakdown *c = s->m->breakdowns[side];
	bool *open = mem_zero(c->names[BREAKDOWN_SITE].count, sizeof(*open));

	*count = 0;
	for (size_t i = 1; i < c->names[BREAKDOWN_SITE].count; i++) {
		open[i] = !c->sites[i].function && s->m->out.row_of[side][i] == NO_ROW &&
			  s->features[side][i].present && !s->known[side][c->sites[i].module];
		*count += open[i];
	}
	return open;
}

static struct shiny_err *match_sites(struct matching *m, struct store *const stores[2],
				     const struct match *types)
{
	struct site_matching s = { .m = m };
	struct shiny_err *err = NULL;
	bool *open[2] = { NULL, NULL };
	size_t counts[2];
	uint32_t row = add_row(m, MATCH_NAME);

	for (int side = 0; side < 2; side++)
		if (m->breakdowns[side]) {
			join(m, row, side, 0, m->breakdowns[side]->names[BREAKDOWN_SITE].at[0]);
			s.features[side] = features_of(m->breakdowns[side], types->row_of[side]);
		}
	if (m->breakdowns[0]) {
		for (int side = 0; side < 2; side++)
			s.known[side] = known_modules(m->breakdowns[side], m->breakdowns[!side]);
		match_sites_by(&s, KEY_SAME_FILE, MATCH_ADDRESS, MATCH_ADDRESS);
		match_sites_by(&s, KEY_FUNCTION, MATCH_NAME, MATCH_ORDER);
		match_sites_by(&s, KEY_BARE, MATCH_MOVED, MATCH_MOVED);
		for (int side = 0; side < 2; side++)
			open[side] = open_sites(&s, side, &counts[side]);
		if (counts[0] && counts[1])
			err = match_calls(stores, m->breakdowns, s.features,
					  (const bool *const[2]){ open[0], open[1] }, take_calls,
					  &s);
	}
	free(open[0]);
	free(open[1]);
	free(s.known[0]);
	free(s.known[1]);
	free((void *)s.features[0]);
	free((void *)s.features[1]);
	return err;
}

struct shiny_err *match_load(struct store *const stores[2],
			     const struct breakdown *const breakdowns[2], enum breakdown_by by,
			     const struct match *types, struct match *out)
{
	struct matching m = { .breakdowns = breakdowns };
	struct shiny_err *err = NULL;

	begin(&m, by);
	if (by == BREAKDOWN_SITE)
		err = match_sites(&m, stores, types);
	else
		match_by_name(&m, by);
	for (int side = 0; !err && side < 2; side++)
		for (uint32_t i = 0; i < count_of(&m, side, by); i++)
			if (m.out.row_of[side][i] == NO_ROW)
				join(&m, add_row(&m, MATCH_ONLY), side, i,
				     breakdowns[side]->names[by].at[i]);
	for (size_t i = 0; !err && i < m.out.count; i++)
		if (!m.out.rows[i].members[0] || !m.out.rows[i].members[1])
			m.out.rows[i].how = MATCH_ONLY;
	if (err) {
		match_deinit(&m.out);
		return err;
	}
	*out = m.out;
	return NULL;
}

void match_deinit(struct match *match)
{
	rows_free(match->rows, match->count, name);
	free(match->row_of[0]);
	free(match->row_of[1]);
	*match = (struct match){ 0 };
}
