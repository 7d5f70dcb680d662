/* SPDX-License-Identifier: Apache-2.0 */
/*
 * type_combine.c: what a block's site says (S), put together with what its vptr says (D).
 *
 * Both can be wrong, each in its own way. A vptr read in the middle of a life names the class at
 * the block's start. That is the block's class, with two exceptions: the block is a structure or an
 * array that begins with such an object (the sizes tell, where the class's size is known), or
 * the memory was not written since an earlier object (rare: allocators write links there). Read
 * young, a vptr may be that of a base class under construction; read at the free, it mostly is a
 * base class's, left by the destructors. A site's answer comes from code that runs for every block,
 * and agrees with the sizes (site_choose.c). But it may name a base class: its constructor was
 * called, the derived one was inlined and does nothing.
 *
 * A D is settled, young or dying; it fits when all blocks have its class's size. A label doesn't
 * count as S.
 *
 *   S                         D                                         answer
 *   ------------------------  ----------------------------------------  --------------------------
 *   any                       none                                      S
 *   any                       its vtable has no name                    S; without S its label
 *   any                       a construction vtable                     S; without S: D or derived,
 *                                                                         low
 *   any                       inside the object (offset to top)         S; without S a label
 *   none                      settled, fits                             D, exact
 *   none                      settled, class size unknown               D, medium; low where the
 *                                                                         sizes differ
 *   none                      young, fits or size unknown               D or derived, medium; low
 *                                                                         likewise
 *   none                      dying, fits or size unknown               D or derived, low
 *   none                      other size                                label "starts with D";
 *                                                                         blocks too small for it:
 *                                                                         none
 *   a class, or derived       the same, settled                         S itself, exact, both
 *   a class, or derived       the same, young or dying                  S, both: no surer
 *   an array                  the same in the first word, larger blocks  S, both: no surer
 *   a class, of a symbol      the same, settled, fits                   S, exact, both
 *   a class, of a symbol      the same, otherwise                       S, at most medium; young:
 *                                                                         or derived; other size:
 *                                                                         as with none
 *   any                       the same but for a lambda in the name     S, both: no surer, for it
 *                                                                         may be another lambda
 *   any                       a base or first member of S               S
 *   allocator, alloc_type     any                                       S
 *   any                       other size                                S
 *   a class or derived        another, settled, fits                    D, exact
 *   a class or derived        another, settled, class size unknown      D, high
 *   a class or derived        another, young                            D or derived, medium
 *   a class or derived        another, dying                            S, or D or derived where S
 *                                                                         is low
 *   constructor, store        another, settled, fits                    D, high: the derived one
 *   constructor, store        another, settled, size of D or S unknown  D, medium
 *   constructor, of a symbol  another, young or dying                   S, at most medium: which is
 *                                                                         the base can't be told
 *   array, buffer, node       another, settled, fits                    S if high; else D, medium
 *   other rules               another, settled, fits                    D, medium
 *   several types             one of them                               as with that one alone
 *   one of several            several classes with one vtable           as with S's class alone
 *   any                       several classes, and D is the answer      D, at most medium
 *   any                       another, otherwise                        S
 *
 * Behind an array cookie (second word) D is the element. It fits when the bytes behind the cookie
 * are a multiple of it. A static type is exact there, because new T[n] makes no derived objects: so
 * S wins unless it is medium or less.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/die_normalize.h"
#include "infer/site_fold.h"
#include "module.h"

enum { COOKIE = 8, NORMALIZED_PARTS = 16 };

/* Fit of D with the blocks' sizes. */
enum combine_fit { FIT_UNKNOWN, FIT_EQUAL, FIT_OTHER, FIT_TOO_SMALL };

struct combination {
	struct sym *sym;
	const struct sym_type *site; /* NULL: the site gives no type, or a label */
	const struct sym_reading *reading;
	const struct sym_sizes *sizes;
	struct sym_evidence *evidence;
	const char *name; /* name of D */
	enum combine_fit fit;
	bool settled;
};

static void say(const struct combination *c, const char *text)
{
	if (c->evidence)
		c->evidence->line(c->evidence->context, 1, text);
}

static enum combine_fit fit_of(const struct sym_reading *reading, const struct sym_sizes *sizes)
{
	uint64_t class = reading->vtable->class_bytes;

	if (!class)
		return FIT_UNKNOWN;
	if (reading->second_word && sizes->min >= COOKIE + class &&
	    (sizes->min - COOKIE) % class == 0 && sizes->step % class == 0)
		return FIT_EQUAL;
	if (!reading->second_word && sizes->min == class && sizes->max == class)
		return FIT_EQUAL;
	return sizes->max < class ? FIT_TOO_SMALL : FIT_OTHER;
}

/* Returns D as the class of the block or of its elements. */
static struct sym_type class_of(const struct combination *c, enum sym_confidence confidence)
{
	return (struct sym_type){ .type = c->name,
				  .bytes = c->reading->vtable->class_bytes,
				  .rule = SYM_RULE_VPTR,
				  .form = c->reading->second_word ? SYM_FORM_ARRAY
								  : SYM_FORM_OBJECT,
				  .confidence = confidence,
				  .or_derived =
					  c->reading->young ||
					  (c->reading->dying && confidence < SYM_MEDIUM) };
}

static struct sym_type label(const struct combination *c, const char *prefix)
{
	struct sym_type out = { .rule = SYM_RULE_VPTR, .confidence = SYM_LABEL };
	size_t room = strlen(prefix) + strlen(c->name) + 1;
	char *text = malloc(room);

	if (text) {
		snprintf(text, room, "%s%s", prefix, c->name);
		out.type = names_text(&c->sym->names, text);
		free(text);
	}
	return out;
}

static struct sym_type alone(const struct combination *c)
{
	enum sym_confidence most = c->settled	       ? SYM_EXACT
				   : c->reading->dying ? SYM_LOW
						       : SYM_MEDIUM;

	switch (c->fit) {
	case FIT_EQUAL:
		say(c, "the vptr alone says it, and the sizes are its class's");
		return class_of(c, most);
	case FIT_UNKNOWN:
		/* a site's only size is no proof: the block may be a structure that begins with
		 * this class */
		say(c, "the vptr alone says it; its class's size is not known");
		if (most > SYM_MEDIUM)
			most = SYM_MEDIUM;
		return class_of(c, c->sizes->step && !c->reading->second_word ? SYM_LOW : most);
	case FIT_OTHER:
		say(c,
		    "the blocks are larger than the class of their vptr: they only start with it");
		return label(c, "starts with ");
	case FIT_TOO_SMALL:
		say(c, "the blocks are too small for the class of their vptr: left over from an "
		       "earlier object");
		break;
	}
	return (struct sym_type){ 0 };
}

static bool leads(const struct sym_type *site, const char *name)
{
	for (size_t i = 0; i < site->leading_count; i++)
		if (die_normalize_alike(site->leading[i], name))
			return true;
	return false;
}

/* Returns S with at most the confidence `most`. */
static struct sym_type site_at_most(const struct combination *c, enum sym_confidence most)
{
	struct sym_type out = *c->site;

	if (out.confidence > most)
		out.confidence = most;
	return out;
}

/* Decides between S and D, which name different classes. */
static struct sym_type differ(const struct combination *c)
{
	const struct sym_type *s = c->site;
	bool constructed = s->rule == SYM_RULE_CONSTRUCTOR || s->rule == SYM_RULE_STORE;

	if (leads(s, c->name)) {
		say(c, "the vptr's class is a base or the first member of the site's");
		return *s;
	}
	if (s->rule == SYM_RULE_ALLOCATOR || s->rule == SYM_RULE_ALLOC_TYPE) {
		say(c, "the vptr says something else; the site's rule is the better witness");
		return *s;
	}
	if (c->fit == FIT_OTHER || c->fit == FIT_TOO_SMALL) {
		say(c, "the vptr's class has another size than the blocks: the site is right");
		return *s;
	}
	if (c->reading->second_word && s->confidence >= SYM_HIGH) {
		say(c, "an array has no elements of derived classes: the site is right");
		return *s;
	}
	if (s->or_derived) {
		say(c, "the site knows a base class only");
		if (c->settled)
			/* without S's size, the vptr may belong to the first member of S */
			return class_of(c, c->fit == FIT_EQUAL ? SYM_EXACT
					   : s->bytes	       ? SYM_HIGH
							       : SYM_MEDIUM);
		return !c->reading->dying	 ? class_of(c, SYM_MEDIUM)
		       : s->confidence > SYM_LOW ? *s
						 : class_of(c, SYM_LOW);
	}
	if (!c->settled) {
		say(c, "the vptr was read too early or too late to speak against the site");
		return site_at_most(c, constructed && !s->bytes ? SYM_MEDIUM : SYM_EXACT);
	}
	if (s->form != SYM_FORM_OBJECT && s->confidence >= SYM_HIGH) {
		say(c, "the vptr is the first element's");
		return *s;
	}
	if (constructed) {
		say(c, "the site saw a base class's constructor, the vptr is the derived class's");
		return class_of(c, c->fit == FIT_EQUAL && s->bytes ? SYM_HIGH : SYM_MEDIUM);
	}
	if (c->fit == FIT_EQUAL || s->confidence < SYM_MEDIUM) {
		say(c, "the site and the vptr disagree, the class has the blocks' size");
		return class_of(c, SYM_MEDIUM);
	}
	say(c, "the site and the vptr disagree, and the class's size is not known");
	return *s;
}

/*
 * Combines S and D of the same name. A site known by symbols only may have seen the constructor of
 * a base class or of the first member, and the vptr is then theirs, too: both witnesses tell the
 * same half of the truth, and only the size shows the other half.
 */
static struct sym_type agree(const struct combination *c)
{
	const struct sym_type *s = c->site;
	struct sym_type out = *s;
	/* the block is larger, and not by a cookie */
	bool begins = c->fit == FIT_OTHER && !c->reading->second_word;

	out.rule = SYM_RULE_BOTH;
	if (!s->bytes && s->form == SYM_FORM_OBJECT &&
	    (c->fit == FIT_OTHER || c->fit == FIT_TOO_SMALL)) {
		say(c, "the site and the vptr agree, but the blocks have another size");
		return alone(c);
	}
	if (!s->bytes && (!c->settled || c->fit != FIT_EQUAL)) {
		say(c, "the site and the vptr agree, but may both mean a base class or the first "
		       "member");
		out.confidence = s->confidence < SYM_MEDIUM ? s->confidence : SYM_MEDIUM;
		out.or_derived = out.or_derived || c->reading->young;
		return out;
	}
	if (!c->settled || (begins && s->form == SYM_FORM_ARRAY)) {
		say(c, c->settled
			       ? "the vptr is the same, but says nothing about what follows"
			       : "the vptr says the same, read too early or too late to say more");
		return out;
	}
	if (!out.bytes && c->fit != FIT_EQUAL) {
		/* the site knows a constructor's symbol only: the block may be something larger
		 * that begins with such an object */
		say(c, "the vptr says the same, but neither knows the class's size");
		out.confidence = out.confidence < SYM_MEDIUM ? out.confidence : SYM_MEDIUM;
		return out;
	}
	say(c, "the site and the vptr agree");
	out.or_derived = false;
	out.confidence = SYM_EXACT;
	return out;
}

static struct sym_type combine(struct combination *c)
{
	const struct sym_vtable *vtable = c->reading->vtable;
	struct sym_type out;

	if (c->site &&
	    (vtable->source == SYM_VTABLE_LABEL || vtable->source == SYM_VTABLE_BUILDING)) {
		say(c, "the vptr's vtable has no name, or the object was being built: the site "
		       "alone says it");
		return *c->site;
	}
	if (vtable->source == SYM_VTABLE_LABEL)
		return (struct sym_type){ .type = vtable->type,
					  .bytes = vtable->class_bytes,
					  .rule = SYM_RULE_VPTR,
					  .confidence = SYM_LABEL };
	if (vtable->source == SYM_VTABLE_BUILDING) {
		say(c, "the object was being built when its vptr was read");
		out = class_of(c, SYM_LOW);
		out.or_derived = true;
		return out;
	}
	if (vtable->offset_to_top) {
		say(c, "the vptr is one from inside its object, not from its start");
		return c->site ? *c->site : label(c, "part of ");
	}
	if (!c->site)
		return alone(c);
	if (!strcmp(c->site->type, c->name))
		return agree(c);
	if (!die_normalize_alike(c->site->type, c->name) || c->fit == FIT_OTHER ||
	    c->fit == FIT_TOO_SMALL)
		return differ(c);
	say(c, "the vptr's class is the site's, as far as names of lambdas can be compared");
	out = *c->site;
	out.rule = SYM_RULE_BOTH;
	return out;
}

/* Narrows several to one: one vptr decides between the site's types, or the site's type decides
 * between the classes that share the vptr's vtable. */
static void narrow(struct combination *c, struct sym_type *site)
{
	if (!c->site || c->reading->vtable->source == SYM_VTABLE_LABEL)
		return;
	if (site_fold_is(c->name) && site_fold_has(c->name, c->site->type)) {
		say(c, "classes share the vtable of the vptr, and the site's is one of them");
		c->name = c->site->type;
	} else if (c->site->one_of && site_fold_has(c->site->type, c->name)) {
		say(c, "the vptr tells which of the site's types it is");
		*site = *c->site;
		site->type = c->name;
		site->one_of = false;
		if (site->container && site_fold_is(site->container))
			site->container = NULL;
		c->site = site;
	}
}

static void tell(const struct combination *c)
{
	char text[1024];

	if (!c->evidence)
		return;
	snprintf(text, sizeof(text),
		 "vptr: %s, read %s%s; class size %" PRIu64 ", blocks of %" PRIu64 "%s%" PRIu64,
		 c->name,
		 c->settled	     ? "in the middle of lives"
		 : c->reading->dying ? "at the free"
				     : "young",
		 c->reading->second_word ? " in the second word" : "",
		 c->reading->vtable->class_bytes, c->sizes->min, c->sizes->step ? " to " : ", ",
		 c->sizes->max);
	c->evidence->line(c->evidence->context, 0, text);
}

/* Normalizes each name in a text of several classes ("A | B") that share their vtable. */
static const char *normalize_parts(struct sym *sym, const char *name)
{
	const char *parts[NORMALIZED_PARTS];
	char *part = mem_alloc(strlen(name) + 1);
	size_t count = 0;

	while (count < NORMALIZED_PARTS && site_fold_next(&name, part)) {
		parts[count] = die_normalize(&sym->names, part);
		count += parts[count] != NULL;
	}
	free(part);
	return count ? site_fold_text(&sym->names, parts, count, 0) : NULL;
}

/* Caches normalized names: few classes have most of the rows, and normalizing takes longer than all
 * else here. */
static const char *normalize(struct sym *sym, const char *name)
{
	const char *from = names_text(&sym->names, name);
	struct normalized *memo = &sym->normalized[((uintptr_t)from * 0x9e3779b97f4a7c15ull) >>
						   (64 - NORMALIZED_BITS)];

	if (!from)
		return NULL;
	if (memo->from != from)
		*memo = (struct normalized){ from, site_fold_is(from)
							   ? normalize_parts(sym, from)
							   : die_normalize(&sym->names, from) };
	return memo->to;
}

void sym_type_combine(struct sym *sym, const struct sym_type *site,
		      const struct sym_reading *reading, const struct sym_sizes *sizes,
		      struct sym_type *out, struct sym_evidence *evidence)
{
	bool known = site->type && site->confidence != SYM_LABEL;
	struct combination c = { .sym = sym,
				 .site = known ? site : NULL,
				 .reading = reading,
				 .sizes = sizes,
				 .evidence = evidence };
	struct sym_type both = *site, narrowed;

	if (reading->vtable && reading->vtable->source == SYM_VTABLE_TEXT) {
		say(&c, "the allocator was told the type's name");
		*out = (struct sym_type){ .type = reading->vtable->type,
					  .rule = SYM_RULE_NAMED,
					  .confidence = SYM_HIGH };
		return;
	}
	if (reading->vtable && (reading->vtable->source == SYM_VTABLE_G_TYPE ||
				reading->vtable->source == SYM_VTABLE_OB_TYPE ||
				reading->vtable->source == SYM_VTABLE_ISA)) {
		say(&c, "the program's run time keeps the object's type");
		*out = (struct sym_type){ .type = reading->vtable->type,
					  .rule = SYM_RULE_RUN_TIME,
					  .confidence = SYM_EXACT };
		return;
	}
	if (reading->vtable && reading->vtable->source == SYM_VTABLE_POOL) {
		say(&c, "a pool has objects in the block");
		*out = (struct sym_type){ .type = reading->vtable->type,
					  .rule = SYM_RULE_NAMED,
					  .confidence = SYM_LABEL };
		return;
	}
	if (reading->vtable && reading->vtable->source == SYM_VTABLE_KIND) {
		*out = (struct sym_type){ .type = reading->vtable->type,
					  .bytes = reading->vtable->class_bytes,
					  .rule = SYM_RULE_KIND,
					  .confidence = reading->vtable->class_named ? SYM_EXACT
										     : SYM_LABEL };
		return;
	}
	if (reading->vtable && reading->vtable->source != SYM_VTABLE_NONE &&
	    reading->vtable->type) {
		c.name = reading->vtable->source == SYM_VTABLE_LABEL ? reading->vtable->type :
			 normalize(sym, reading->vtable->type);
		c.settled = !reading->young && !reading->dying;
		c.fit = fit_of(reading, sizes);
		if (c.name) {
			tell(&c);
			narrow(&c, &narrowed);
			both = combine(&c);
		}
	}
	*out = both.type ? both : *site;
	if (out->type == c.name && c.name && site_fold_is(c.name)) {
		out->one_of = true;
		if (out->confidence > SYM_MEDIUM)
			out->confidence = SYM_MEDIUM;
	}
}

/* ---- names ---- */

const char *sym_rule_name(enum sym_rule rule)
{
	static const char *const names[] = {
		[SYM_RULE_NONE] = "none",	    [SYM_RULE_ALLOC_TYPE] = "alloc_type",
		[SYM_RULE_ALLOCATOR] = "allocator", [SYM_RULE_CONSTRUCTOR] = "constructor",
		[SYM_RULE_STORE] = "store",	    [SYM_RULE_VARIABLE] = "variable",
		[SYM_RULE_FUNCTION] = "function",   [SYM_RULE_VPTR] = "vptr",
		[SYM_RULE_BOTH] = "both",	    [SYM_RULE_LEARNED] = "learned",
		[SYM_RULE_THROWN] = "thrown",	    [SYM_RULE_KIND] = "kind",
		[SYM_RULE_NAMED] = "named",	    [SYM_RULE_RUN_TIME] = "run_time",
	};

	return names[rule];
}

static const char *const source_names[] = {
	[SYM_VTABLE_NONE] = "none",	    [SYM_VTABLE_SYMBOL] = "symbol",
	[SYM_VTABLE_RTTI] = "rtti",	    [SYM_VTABLE_LABEL] = "label",
	[SYM_VTABLE_BUILDING] = "building", [SYM_VTABLE_KIND] = "kind",
	[SYM_VTABLE_TEXT] = "text",	    [SYM_VTABLE_G_TYPE] = "g_type",
	[SYM_VTABLE_OB_TYPE] = "ob_type",   [SYM_VTABLE_ISA] = "isa",
	[SYM_VTABLE_POOL] = "pool",
};

const char *sym_vtable_source_name(enum sym_vtable_source source)
{
	return source_names[source];
}

enum sym_vtable_source sym_vtable_source_of(const char *name)
{
	size_t source = sizeof(source_names) / sizeof(*source_names);

	while (--source && strcmp(source_names[source], name) != 0)
		;
	return (enum sym_vtable_source)source;
}

const char *sym_form_name(enum sym_form form)
{
	static const char *const names[] = { [SYM_FORM_OBJECT] = "object",
					     [SYM_FORM_ARRAY] = "array",
					     [SYM_FORM_NODE] = "node",
					     [SYM_FORM_BUFFER] = "buffer" };

	return names[form];
}

const char *sym_confidence_name(enum sym_confidence confidence)
{
	static const char *const names[] = { [SYM_LABEL] = "label",
					     [SYM_LOW] = "low",
					     [SYM_MEDIUM] = "medium",
					     [SYM_HIGH] = "high",
					     [SYM_EXACT] = "exact" };

	return names[confidence];
}
