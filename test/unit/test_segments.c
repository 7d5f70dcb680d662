/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_segments.c: the table of segments against a model that knows each page: random calls, random
 * lists of the kernel's, forks. After every step the pieces must say of each page what the model
 * says, and the segments that ended must, with those that are there, give back the whole history:
 * one segment for each page that was mapped, at each moment.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "../../src/sidecar/vm/segments.h"

enum { PAGES = 96, STEPS = 400, ROUNDS = 400, PAGE = 4096, BASE = 16 };

static unsigned failures, checks;
static uint64_t seed;

static unsigned pick(unsigned limit)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(seed >> 33) % limit;
}

static void fail(const char *what, unsigned round, unsigned step)
{
	if (failures++ < 10)
		printf("not ok %s: round %u, step %u\n", what, round, step);
}

/* What a page is. */
struct page {
	uint64_t mapped; /* the time of its call; 0: not there */
	uint32_t stack, file, name;
	unsigned prot;
	bool shared, anonymous;
	unsigned offset; /* pages into the file */
};
struct model {
	struct page pages[PAGES];
	uint32_t owner[PAGES]; /* a number for each range that the rules call one segment */
};

static uint64_t address(unsigned page)
{
	return (uint64_t)(BASE + page) * PAGE;
}

/* [from, to) of one owner gets another: what is left on both sides of it becomes two. */
static uint32_t owners;
static void split_owner(struct model *m, unsigned from, unsigned to)
{
	uint32_t left = from ? m->owner[from - 1] : 0, right = to < PAGES ? m->owner[to] : 0;

	if (!left || left != right)
		return;
	owners++;
	for (unsigned i = to; i < PAGES && m->owner[i] == right; i++)
		m->owner[i] = owners;
}

static void model_unmap(struct model *m, unsigned from, unsigned to, uint64_t begun)
{
	for (unsigned i = from; i < to; i++) {
		if (!m->pages[i].mapped || m->pages[i].mapped > begun)
			continue;
		m->pages[i] = (struct page){ 0 };
		m->owner[i] = 0;
		split_owner(m, i, i + 1);
	}
}

static void model_map(struct model *m, unsigned from, unsigned to, const struct page *what,
		      bool fixed)
{
	uint32_t owner = m->owner[from];
	unsigned first = from, last = to;

	while (owner && first && m->owner[first - 1] == owner)
		first--;
	while (owner && last < PAGES && m->owner[last] == owner)
		last++;
	for (unsigned i = from; owner && i < to; i++)
		if (m->owner[i] != owner)
			owner = 0;
	if (owner && fixed && what->anonymous && !what->shared && m->pages[from].anonymous &&
	    !m->pages[from].shared && last - first > to - from) {
		for (unsigned i = from; i < to; i++)
			m->pages[i].prot = what->prot;
		return;
	}
	model_unmap(m, from, to, UINT64_MAX);
	owners++;
	for (unsigned i = from; i < to; i++) {
		m->pages[i] = *what;
		m->pages[i].offset = what->anonymous ? 0 : what->offset + (i - from);
		m->owner[i] = owners;
	}
}

static void compare(const struct segments *s, const struct model *m, unsigned round, unsigned step)
{
	uint64_t end = 0;
	const struct vm_segment *last = NULL;
	uint64_t committed = 0;
	bool there[PAGES] = { false };

	checks++;
	for (size_t i = 0; i < s->pieces.count; i++) {
		const struct piece *p = &s->pieces.at[i];
		const struct vm_segment *g = p->segment;

		if (p->start < end || p->start >= p->end)
			fail("order of pieces", round, step);
		if (i && last == g && (p->start != end || s->pieces.at[i - 1].prot == p->prot))
			fail("pieces of one segment are neighbours that differ", round, step);
		if (last != g) {
			if (last && (last->end != end || last->committed != committed))
				fail("the end and the committed bytes of a segment", round, step);
			if (g->start != p->start)
				fail("the start of a segment", round, step);
			committed = 0;
			last = g;
		}
		committed += p->prot ? p->end - p->start : 0;
		end = p->end;
		for (uint64_t at = p->start; at < p->end; at += PAGE) {
			unsigned n = (unsigned)(at / PAGE) - BASE;
			const struct page *page = &m->pages[n];

			if (n >= PAGES) {
				fail("a page outside", round, step);
				continue;
			}
			there[n] = true;
			if (!page->mapped || page->prot != p->prot || page->stack != g->stack ||
			    page->name != g->name || page->shared != g->shared ||
			    page->anonymous != g->anonymous || (g->file && page->file != g->file))
				fail("what a page is", round, step);
			if (!g->anonymous &&
			    page->offset != g->offset / PAGE + (at - g->start) / PAGE)
				fail("where in its file a page is", round, step);
			if (n && there[n - 1] &&
			    (m->owner[n] == m->owner[n - 1]) != (at > g->start))
				fail("which pages are one segment", round, step);
		}
	}
	if (last && (last->end != end || last->committed != committed))
		fail("the end and the committed bytes of the last segment", round, step);
	for (unsigned n = 0; n < PAGES; n++)
		if (there[n] != (m->pages[n].mapped != 0))
			fail("which pages are there", round, step);
}

struct moment {
	uint64_t time;
	bool there[PAGES];
};

/* At each moment each mapped page lies in one segment, those that are not mapped in none. */
static void check_history(const struct segments *s, const struct moment *moments, unsigned count,
			  unsigned round)
{
	for (unsigned k = 0; k < count; k++) {
		unsigned covers[PAGES] = { 0 };
		uint64_t time = moments[k].time;

		for (size_t i = 0; i < s->past.count + s->pieces.count; i++) {
			const struct vm_segment *g =
				i < s->past.count ? s->past.at[i]
						  : s->pieces.at[i - s->past.count].segment;

			if (i > s->past.count && g == s->pieces.at[i - s->past.count - 1].segment)
				continue;
			if (g->born <= time && (!g->ended || time < g->ended))
				for (uint64_t at = g->start; at < g->end; at += PAGE)
					covers[at / PAGE - BASE]++;
		}
		checks++;
		for (unsigned n = 0; n < PAGES; n++)
			if (covers[n] != moments[k].there[n])
				fail("history", round, k);
	}
}

static void sample_all(struct segments *s)
{
	for (size_t i = 0; i < s->pieces.count; i++)
		s->pieces.at[i].segment->sampled = true;
}

/* The kernel's list of what the model has, with what is alike and adjacent in one area, as it
 * does. */
static size_t list_of(const struct model *m, struct smaps_area *areas)
{
	size_t count = 0;

	for (unsigned n = 0; n < PAGES; n++) {
		const struct page *p = &m->pages[n], *before = n ? &m->pages[n - 1] : NULL;
		static char path[PAGES + 1][32];

		if (!p->mapped)
			continue;
		if (before && before->mapped && before->prot == p->prot &&
		    before->file == p->file && before->shared == p->shared &&
		    before->name == p->name && (!p->file || before->offset + 1 == p->offset)) {
			areas[count - 1].end += PAGE;
			continue;
		}
		if (p->file)
			snprintf(path[n], sizeof(path[n]), "/file/%u", p->file);
		else
			path[n][0] = '\0';
		areas[count++] = (struct smaps_area){ .start = address(n),
						      .end = address(n) + PAGE,
						      .offset = (uint64_t)p->offset * PAGE,
						      .inode = p->file,
						      .device = p->file ? 1 : 0,
						      .path = path[n],
						      .text = p->file ? p->file : p->name,
						      .prot = (uint8_t)p->prot,
						      .shared = p->shared };
	}
	return count;
}

/* One call that the model and the table are both told of. */
static void random_call(struct segments *s, struct model *m, uint64_t time)
{
	static const unsigned prots[] = { PROT_NONE, PROT_READ, PROT_READ | PROT_WRITE,
					  PROT_READ | PROT_EXEC };
	unsigned from = pick(PAGES - 1),
		 to = from + 1 + pick(PAGES - from < 24 ? PAGES - from : 24), prot = prots[pick(4)];
	uint64_t begun = pick(4) ? UINT64_MAX : time > 8 ? time - pick(8) : time;
	uint32_t name;

	switch (pick(8)) {
	case 0:
	case 1:
	case 2: {
		bool anonymous = pick(3), shared = !anonymous && pick(2), fixed = pick(2);
		struct page what = { .mapped = time,
				     .stack = 1 + pick(1000),
				     .file = anonymous ? 0 : 1 + pick(3),
				     .prot = prot,
				     .shared = shared,
				     .anonymous = anonymous,
				     .offset = anonymous ? 0 : pick(50) };
		struct vm_segment call = { .start = address(from),
					   .end = address(to),
					   .stack = what.stack,
					   .flags = fixed ? MAP_FIXED : 0,
					   .prot = (uint8_t)prot,
					   .source = SEGMENT_MMAP,
					   .shared = shared,
					   .anonymous = anonymous,
					   .offset = (uint64_t)what.offset * PAGE,
					   .file = what.file,
					   .inode = what.file,
					   .device = what.file ? 1 : 0 };

		model_map(m, from, to, &what, fixed);
		segments_map(s, &call, time);
		break;
	}
	case 3:
		model_unmap(m, from, to, begun);
		segments_unmap(s, address(from), address(to), begun, time);
		break;
	case 4:
	case 5:
		for (unsigned n = from; n < to; n++)
			if (m->pages[n].mapped && m->pages[n].mapped <= begun)
				m->pages[n].prot = prot;
		segments_protect(s, address(from), address(to), prot, begun);
		break;
	case 6: /* named parts become segments */
		name = 500 + pick(3);
		for (unsigned n = from, next; n < to; n = next) {
			uint32_t owner = m->owner[n];

			for (next = n + 1; next < to && m->owner[next] == owner; next++)
				;
			if (!owner || !m->pages[n].anonymous || m->pages[n].name == name)
				continue;
			split_owner(m, n, next);
			owners++;
			for (unsigned k = n; k < next; k++) {
				m->pages[k].name = name;
				m->owner[k] = owners;
			}
		}
		segments_name(s, address(from), address(to), name, time);
		break;
	case 7: { /* mremap of a whole segment to somewhere else */
		unsigned first = from, last = from, bytes, at;
		struct page moved[PAGES];

		if (!m->owner[from])
			break;
		while (first && m->owner[first - 1] == m->owner[from])
			first--;
		while (last < PAGES && m->owner[last] == m->owner[from])
			last++;
		bytes = last - first;
		at = pick(PAGES - bytes + 1);
		if (at < last && first < at + bytes)
			break; /* the kernel refuses overlaps */
		memcpy(moved, &m->pages[first], bytes * sizeof(*moved));
		for (unsigned n = 1; n < bytes; n++)
			if (moved[n].prot != moved[0].prot)
				return; /* and mappings of several protections */
		model_unmap(m, first, last, UINT64_MAX);
		model_unmap(m, at, at + bytes, UINT64_MAX);
		owners++;
		for (unsigned n = 0; n < bytes; n++) {
			m->pages[at + n] = moved[n];
			m->pages[at + n].stack = 77;
			m->pages[at + n].mapped = time;
			m->owner[at + n] = owners;
		}
		segments_move(s, address(first), (uint64_t)bytes * PAGE, address(at),
			      (uint64_t)bytes * PAGE, MREMAP_MAYMOVE, 77, UINT64_MAX, time);
		break;
	}
	}
}

static void random_round(unsigned round, bool sampled)
{
	struct model model = { 0 };
	struct moment *moments = calloc(STEPS + 1, sizeof(*moments));
	struct segments s, child;
	uint32_t ids = 0;

	seed = 0x5eed + round;
	owners = 0;
	segments_init(&s, &ids);
	for (unsigned step = 0; step < STEPS; step++) {
		uint64_t time = 1000 + (uint64_t)step * 10;

		random_call(&s, &model, time);
		compare(&s, &model, round, step);
		if (sampled)
			sample_all(&s);
		/* the list of what calls have told changes nothing */
		if (pick(16) == 0) {
			struct smaps_area areas[PAGES];
			size_t count = list_of(&model, areas);

			segments_observe(&s, areas, count, NULL, 0, time + 1);
			compare(&s, &model, round, step);
			if (s.corrected)
				fail("a list that agrees corrects nothing", round, step);
		}
		moments[step].time = time + 2;
		for (unsigned n = 0; n < PAGES; n++)
			moments[step].there[n] = model.pages[n].mapped != 0;
	}
	if (sampled)
		check_history(&s, moments, STEPS, round);
	segments_init(&child, &ids);
	segments_clone(&child, &s, UINT64_MAX - 1);
	compare(&child, &model, round, STEPS);
	segments_deinit(&child);
	segments_deinit(&s);
	free(moments);
}

/* Most calls are not told: lists must bring the table to what is there, page by page. */
static void unseen_round(unsigned round)
{
	struct model model = { 0 };
	struct segments s, dummy;
	uint32_t ids = 0;

	seed = 0xbad + round;
	owners = 0;
	segments_init(&s, &ids);
	for (unsigned step = 0; step < STEPS / 4; step++) {
		struct smaps_area areas[PAGES];
		uint64_t time = 1000 + (uint64_t)step * 10;
		bool there[PAGES] = { false };
		unsigned wrong = 0;
		size_t count;

		segments_init(&dummy, &ids);
		if (pick(3))
			random_call(&dummy, &model, time);
		else
			random_call(&s, &model, time);
		segments_deinit(&dummy);
		if (pick(3))
			continue;
		/* names belong to calls, not to pages: leave the kernel's list without */
		for (unsigned n = 0; n < PAGES; n++)
			model.pages[n].name = 0;
		count = list_of(&model, areas);
		segments_observe(&s, areas, count, NULL, 0, time + 1);
		sample_all(&s);
		checks++;
		for (size_t i = 0; i < s.pieces.count; i++)
			for (uint64_t at = s.pieces.at[i].start; at < s.pieces.at[i].end;
			     at += PAGE) {
				const struct page *page = &model.pages[at / PAGE - BASE];
				const struct vm_segment *g = s.pieces.at[i].segment;

				there[at / PAGE - BASE] = true;
				wrong += !page->mapped || page->prot != s.pieces.at[i].prot ||
					 page->shared != g->shared || page->file != g->file;
			}
		for (unsigned n = 0; n < PAGES; n++)
			wrong += there[n] != (model.pages[n].mapped != 0);
		if (wrong)
			fail("the table after a list", round, step);
	}
	segments_deinit(&s);
}

#define CHECK(what, good)                       \
	((good) ? (void)printf("ok %s\n", what) \
		: (void)(failures++, printf("not ok %s: line %d\n", what, __LINE__)))

static void by_hand(void)
{
	struct segments s, child;
	uint32_t ids = 0;
	struct vm_segment pool = { .start = 0x100000,
				   .end = 0x200000,
				   .stack = 5,
				   .source = SEGMENT_MMAP,
				   .anonymous = true };
	struct flux flux = { 0x100000, 0x101000 };
	struct smaps_area heap = { .start = 0x300000,
				   .end = 0x304000,
				   .path = "[heap]",
				   .text = 9,
				   .prot = PROT_READ | PROT_WRITE };
	const struct vm_segment *g;

	segments_init(&s, &ids);
	segments_map(&s, &pool, 10);
	segments_protect(&s, 0x110000, 0x120000, PROT_READ | PROT_WRITE, 20);
	g = s.pieces.at[0].segment;
	CHECK("a reservation stays one segment",
	      s.pieces.count == 3 && g->committed == 0x10000 && g->stack == 5 && !s.past.count);
	pool.start = 0x110000;
	pool.end = 0x118000;
	pool.stack = 6;
	pool.flags = MAP_FIXED;
	segments_map(&s, &pool, 30);
	CHECK("and giving back a part of it by mmap changes its protection",
	      g == s.pieces.at[0].segment && g->committed == 0x8000 && !s.past.count);
	segments_unmap(&s, 0x100000, 0x101000, 5, 40);
	CHECK("what began earlier does not end what is younger", g->start == 0x100000);
	s.pieces.at[0].segment->sampled = true;
	segments_unmap(&s, 0x140000, 0x150000, 41, 42);
	CHECK("a hole ends a segment and begins two of the same origin",
	      s.past.count == 1 && s.past.at[0]->ended == 42 &&
		      s.pieces.at[0].segment->end == 0x140000 &&
		      s.pieces.at[s.pieces.count - 1].segment->start == 0x150000 &&
		      s.pieces.at[0].segment->origin == s.past.at[0]->id &&
		      s.pieces.at[0].segment->born == 42);
	segments_observe(&s, NULL, 0, &flux, 1, 50);
	CHECK("a list that lacks everything leaves what was in flux",
	      s.pieces.count == 1 && s.pieces.at[0].start == 0x100000);
	segments_break(&s, 0x300000, 0x302000, 7, 9, 60);
	segments_break(&s, 0x302000, 0x304100, 7, 9, 61);
	g = s.pieces.at[s.pieces.count - 1].segment;
	CHECK("a call is its own origin", g->origin == g->id && g->id > 1);
	CHECK("the break grows",
	      g->start == 0x300000 && g->end == 0x305000 && g->committed == 0x5000);
	segments_break(&s, 0x304100, 0x303000, 7, 9, 62);
	CHECK("and shrinks", g->end == 0x303000);
	segments_observe(&s, &heap, 1, NULL, 0, 70);
	CHECK("a heap that grew unseen is one more segment",
	      s.pieces.at[s.pieces.count - 1].end == 0x304000);
	segments_move(&s, 0x300000, 0x3000, 0x500000, 0x6000, MREMAP_MAYMOVE, 8, 80, 81);
	g = s.pieces.at[s.pieces.count - 1].segment;
	CHECK("mremap moves and grows", g->start == 0x500000 && g->end == 0x506000 &&
						g->stack == 8 && g->source == SEGMENT_MREMAP);
	segments_move(&s, 0x500000, 0x6000, 0x500000, 0x7000, 0, 8, 82, 83);
	g = s.pieces.at[s.pieces.count - 1].segment;
	CHECK("mremap grows in place", g->end == 0x507000 && g->committed == 0x7000);
	segments_move(&s, 0x500000, 0x7000, 0x500000, 0x1000, 0, 8, 84, 85);
	CHECK("and shrinks", s.pieces.at[s.pieces.count - 1].end == 0x501000);
	g = s.pieces.at[s.pieces.count - 1].segment;
	segments_init(&child, &ids);
	segments_clone(&child, &s, 82);
	CHECK("a fork brings what was mapped before it",
	      child.pieces.count == s.pieces.count &&
		      child.pieces.at[0].segment->source == SEGMENT_INHERITED &&
		      child.pieces.at[0].segment->origin == s.pieces.at[0].segment->origin &&
		      child.pieces.at[0].segment->id != s.pieces.at[0].segment->id);
	segments_deinit(&child);
	segments_init(&child, &ids);
	segments_clone(&child, &s, g->mapped - 1);
	CHECK("and not what came later", child.pieces.count == s.pieces.count - 1);
	segments_deinit(&child);
	segments_deinit(&s);
}

static void parsing(void)
{
	static const char text[] =
		"00400000-0040b000 r-xp 00002000 fe:01 247134                     /usr/bin/some "
		"thing (deleted)\n"
		"Size:                 44 kB\nRss:                  20 kB\nPss:                  "
		"10 kB\nPss_Dirty:             1 kB\n"
		"Private_Clean:         4 kB\nPrivate_Dirty:         8 kB\nSwap:                 "
		"12 kB\nSwapPss:              12 kB\nVmFlags: rd ex \n"
		"7f0000000000-7f0000001000 ---s 00000000 00:00 0 \nRss:                   4 kB\n"
		"7f0000000000-7f0000001000 ---s 00000000 00:00 0 \nRss:                   4 kB\n"
		"7ffc0f000000-7ffc0f021000 rw-p 00000000 00:00 0                          "
		"[stack]\nRss:                   8 kB\n";
	struct smaps smaps = { .text = strdup(text) };
	const struct smaps_area *a;

	CHECK("smaps are read", smaps_parse(&smaps) == 0 && smaps.areas.count == 3);
	a = smaps.areas.at;
	CHECK("an area", a[0].start == 0x400000 && a[0].end == 0x40b000 && a[0].offset == 0x2000 &&
				 a[0].inode == 247134 && a[0].device == (0xfeu << 20 | 1) &&
				 a[0].prot == (PROT_READ | PROT_EXEC) && !a[0].shared &&
				 !strcmp(a[0].path, "/usr/bin/some thing (deleted)"));
	CHECK("its sizes", a[0].rss == 20480 && a[0].pss == 10240 && a[0].private == 12288 &&
				   a[0].swap == 12288);
	CHECK("one that came twice counts once", a[1].rss == 4096 && a[1].shared &&
							 a[1].prot == 0 && !*a[1].path &&
							 smaps.rss == 20480 + 4096 + 8192);
	CHECK("a special one", !strcmp(a[2].path, "[stack]"));
	free(smaps.text);
	smaps.text = strdup("00400000-0040b000 r-xp 000");
	CHECK("a cut text is refused", smaps_parse(&smaps) != 0);
	free(smaps.text);
	smaps.text = strdup("Rss: 4 kB\n");
	CHECK("a text without a beginning is refused", smaps_parse(&smaps) != 0);
	smaps_deinit(&smaps);
}

int main(void)
{
	by_hand();
	parsing();
	for (unsigned round = 0; round < ROUNDS; round++) {
		random_round(round, round % 2);
		unseen_round(round);
	}
	if (!failures)
		printf("ok %u comparisons with the model\n", checks);
	return failures != 0;
}
