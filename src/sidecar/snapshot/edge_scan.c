/* SPDX-License-Identifier: Apache-2.0 */
/*
 * edge_scan.c: see edge_scan.h.
 *
 * One pass over the copy in order of address, in step with the sorted blocks, yields the edges in
 * order of their sources. A word is looked up by its page: a hash table has the blocks that begin
 * on each page; a word on a page where none begins can only be in a block that spans pages. Most
 * words are no address between the first and the last block, and cost one comparison.
 */
#include "edge_scan.h"

#include <stdlib.h>
#include <string.h>

#include "../../base/hash.h"
#include "../../base/lower_bound.h"
#include "../../base/row_order.h"

enum { SCAN_PAGE_SHIFT = 12, WORD = 8, RED_ZONE = 128, REGISTERS = 16 };
enum { VARIABLES_MOST = 256 * 1024, RECORD_MOST = 4096, CAGE_SAMPLE = 1 << 20, WRAPPER_SHIFT = 16 };

struct block_page {
	uint64_t page; /* number + 1; 0: empty */
	uint32_t first, count;
};

const char *root_kind_name(enum root_kind kind)
{
	static const char *const names[] = { "none", "variable", "stack",
					     "register", "thread-local", "mapping",
					     "wrapper" };

	return names[kind];
}

/* ---- blocks by address ---- */

ORDER_BY(block_by_address, struct snapshot_block, ORDER_UP(address))

static struct block_page *cell_of(const struct edge_scan *scan, uint64_t page)
{
	size_t i = hash_mix(page) & scan->page_mask;

	while (scan->pages[i].page && scan->pages[i].page != page + 1)
		i = (i + 1) & scan->page_mask;
	return &scan->pages[i];
}

static void index_blocks(struct edge_scan *scan)
{
	size_t room = 2, count = scan->blocks.count;

	if (count)
		qsort(scan->blocks.at, count, sizeof(*scan->blocks.at), block_by_address);
	while (room < 2 * count)
		room *= 2;
	scan->page_mask = room - 1;
	scan->pages = mem_pages(room * sizeof(*scan->pages));
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_block *b = &scan->blocks.at[i];
		uint64_t page = b->address >> SCAN_PAGE_SHIFT;
		struct block_page *cell = cell_of(scan, page);

		if (!cell->page)
			*cell = (struct block_page){ page + 1, (uint32_t)i, 0 };
		cell->count++;
		scan->bytes += b->size;
		if ((b->address + b->size) >> SCAN_PAGE_SHIFT != page)
			*vec_push(&scan->spanning) = (uint32_t)i;
	}
}

/* Returns the index of the last block that begins at or before `address` and may reach it;
 * UINT32_MAX: none. */
static uint32_t candidate(const struct edge_scan *scan, uint64_t address)
{
	const struct block_page *cell = cell_of(scan, address >> SCAN_PAGE_SHIFT);
	const struct snapshot_block *blocks = scan->blocks.at;
	size_t at;

	if (cell->page) {
		const struct snapshot_block *first = &blocks[cell->first];

		at = lower_bound(cell->count, i, first[i].address <= address);
		return at ? cell->first + (uint32_t)at - 1 : cell->first - 1;
	}
	at = lower_bound(scan->spanning.count, i, blocks[scan->spanning.at[i]].address <= address);
	return at ? scan->spanning.at[at - 1] : UINT32_MAX;
}

/* Returns the number of the block that the word points to, and the offset *into it; 0: none. */
static inline uint32_t target_of(const struct edge_scan *scan, uint64_t word, uint64_t *into)
{
	const struct snapshot_block *blocks = scan->blocks.at;
	size_t count = scan->blocks.count;
	uint32_t at;

	if (!count || word < blocks[0].address ||
	    word > blocks[count - 1].address + blocks[count - 1].size)
		return 0;
	at = candidate(scan, word);
	if (at == UINT32_MAX || word - blocks[at].address > blocks[at].size)
		return 0;
	*into = word - blocks[at].address;
	return at + 1;
}

/* ---- members of collected objects ---- */

/* True if the word is a mapped address of the process. */
static bool is_mapped(const struct edge_scan *scan, uint64_t word)
{
	size_t area = lower_bound(scan->copy.areas.count, i, scan->copy.areas.at[i].end <= word);
	size_t module = lower_bound(scan->modules.count, i, scan->modules.at[i].end <= word);

	return (area < scan->copy.areas.count && scan->copy.areas.at[area].start <= word) ||
	       (module < scan->modules.count && scan->modules.at[module].start <= word);
}

/* Returns the number of the object that a member points to; 0: none. */
static uint32_t member_target(const struct edge_scan *scan, const struct member_cage *cage,
			      uint32_t member, uint64_t *into)
{
	uint64_t address = member_cage_unpack(cage, member);
	uint32_t target = address && address % WORD == 0 ? target_of(scan, address, into) : 0;

	return target && *into < scan->blocks.at[target - 1].size ? target : 0;
}

static uint32_t half_of(uint64_t word, unsigned half)
{
	return (uint32_t)(word >> half * 32);
}

/* Returns how many halves of the first CAGE_SAMPLE words of objects unpack to an object's start. */
static uint64_t count_members(const struct edge_scan *scan, const struct member_cage *cage)
{
	uint64_t looked = 0, found = 0, into;

	for (size_t r = 0; r < scan->copy.runs.count; r++) {
		const struct copied_run *run = &scan->copy.runs.at[r];

		if (!member_cage_holds(cage, run->start))
			continue;
		for (uint64_t at = run->start; at < run->end && looked < CAGE_SAMPLE; at += WORD) {
			uint64_t word = run->words[(at - run->start) / WORD];

			looked += word != 0;
			for (unsigned half = 0; half < 2; half++)
				found += member_target(scan, cage, half_of(word, half), &into) &&
					 !into;
		}
	}
	return found;
}

static void try_cage(const struct edge_scan *scan, uint64_t word, struct member_cage *best,
		     uint64_t *most)
{
	for (unsigned shift = 1; shift <= MEMBER_SHIFTS; shift++) {
		struct member_cage cage = { word, shift };
		uint64_t found;

		if (!member_cage_fits(word, shift, scan->collected_first, scan->collected_last))
			continue;
		found = count_members(scan, &cage);
		if (found > *most) {
			*most = found;
			*best = cage;
		}
	}
}

static void find_cage(struct edge_scan *scan)
{
	uint64_t most = 0;
	size_t m = 0;

	if (!scan->collected_first)
		return;
	for (size_t r = 0; r < scan->copy.runs.count; r++) {
		const struct copied_run *run = &scan->copy.runs.at[r];

		while (m < scan->modules.count && scan->modules.at[m].end <= run->start)
			m++;
		if (m == scan->modules.count || scan->modules.at[m].start >= run->end)
			continue;
		for (uint64_t i = 0; i < (run->end - run->start) / WORD; i++)
			if ((uint32_t)run->words[i] == UINT32_MAX)
				try_cage(scan, run->words[i], &scan->cage, &most);
	}
}

/* ---- roots by address ---- */

static uint64_t stack_from(const struct edge_scan *scan, size_t thread)
{
	return (scan->threads[thread].registers.rsp - RED_ZONE) & ~(uint64_t)(WORD - 1);
}

ORDER_BY(thread_by_sp, struct tracee_thread, ORDER_UP(registers.rsp))

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* True if the area has the thread's variables: glibc puts them into one mapping with its stack. */
static bool holds_variables_of(const struct copied_area *area,
			       const struct tracee_thread *thread)
{
	return area->start <= thread->registers.fs_base && thread->registers.fs_base < area->end;
}

/*
 * True if the address is among the thread's variables, which lie below its fs base, or in its
 * record, behind it. The kernel may have merged their mapping with a neighbouring one of the
 * program's, and their size is unknown: addresses beyond these bounds do not count.
 */
static bool is_thread_local(const struct copied_area *area, const struct tracee_thread *thread,
			    uint64_t address, uint64_t *until)
{
	uint64_t base = thread->registers.fs_base, below;

	if (!holds_variables_of(area, thread) || address >= base + RECORD_MOST)
		return false;
	below = least(base - area->start, VARIABLES_MOST);
	*until = least(*until, address < base - below ? base - below : base + RECORD_MOST);
	return address >= base - below;
}

/* Returns the root of the part of an area that begins at `address`; it ends at *until. */
static struct scan_root root_of_area(const struct edge_scan *scan, size_t area, uint64_t address,
				     uint64_t *until)
{
	const struct copied_area *a = &scan->copy.areas.at[area];
	size_t above = lower_bound(scan->thread_count, i, stack_from(scan, i) <= address);

	*until = least(*until, a->end);
	if (above < scan->thread_count)
		*until = least(*until, stack_from(scan, above));
	if (above && stack_from(scan, above - 1) >= a->start - RED_ZONE)
		return (struct scan_root){ .kind = ROOT_STACK,
					   .tid = (uint32_t)scan->threads[above - 1].tid,
					   .vaddr = stack_from(scan, above - 1) };
	if (scan->has_blocks[area] || a->heap ||
	    (above < scan->thread_count && stack_from(scan, above) < a->end &&
	     (a->stack || holds_variables_of(a, &scan->threads[above]))))
		return (struct scan_root){ .kind = ROOT_NONE };
	for (size_t i = 0; i < scan->thread_count; i++)
		if (is_thread_local(a, &scan->threads[i], address, until))
			return (struct scan_root){ .kind = ROOT_THREAD_LOCAL,
						   .tid = (uint32_t)scan->threads[i].tid,
						   .vaddr = a->start };
	return (struct scan_root){ .kind = ROOT_MAPPING, .vaddr = a->start };
}

/* Returns the root of a word outside all blocks; it is the same up to *until. */
static struct scan_root root_at(const struct edge_scan *scan, size_t area, uint64_t address,
				uint64_t *until)
{
	size_t m = lower_bound(scan->modules.count, i, scan->modules.at[i].end <= address);

	for (size_t i = 0; i < scan->own.count; i++) {
		if (scan->own.at[i].start <= address && address < scan->own.at[i].end) {
			*until = least(*until, scan->own.at[i].end);
			return (struct scan_root){ .kind = ROOT_NONE };
		}
		if (scan->own.at[i].start > address)
			*until = least(*until, scan->own.at[i].start);
	}
	if (m < scan->modules.count && scan->modules.at[m].start <= address) {
		*until = least(*until, scan->modules.at[m].end);
		return (struct scan_root){ .kind = ROOT_VARIABLE,
					   .module = scan->modules.at[m].module,
					   .vaddr = address - scan->modules.at[m].bias,
					   .allocator = scan->modules.at[m].allocator };
	}
	if (m < scan->modules.count)
		*until = least(*until, scan->modules.at[m].start);
	return root_of_area(scan, area, address, until);
}

/* Returns the root's number, from 1, adding it if necessary; each word of variables is a root. */
static uint32_t root_number(struct edge_scan *scan, const struct scan_root *root)
{
	for (size_t i = root->kind == ROOT_VARIABLE ? 0 : scan->roots.count; i-- > 0;)
		if (scan->roots.at[i].kind == root->kind && scan->roots.at[i].tid == root->tid &&
		    scan->roots.at[i].vaddr == root->vaddr)
			return (uint32_t)i + 1;
	*vec_push(&scan->roots) = *root;
	return (uint32_t)scan->roots.count;
}

/* ---- the pass ---- */

static void scan_members(struct edge_scan *scan, struct snapshot_edge edge, uint64_t word)
{
	for (unsigned half = 0; half < 2; half++, edge.at += MEMBER_BYTES) {
		edge.target = member_target(scan, &scan->cage, half_of(word, half), &edge.into);
		if (edge.target && !is_mapped(scan, word))
			snapshot_pack_edge(&scan->packed, &edge);
	}
}

static void scan_block(struct edge_scan *scan, const struct copied_run *run, uint32_t source,
		       uint64_t from, uint64_t to)
{
	uint64_t start = scan->blocks.at[source - 1].address;
	bool members = member_cage_holds(&scan->cage, start);

	/* an object may end with a member in half a word */
	for (uint64_t at = (from + WORD - 1) & ~(uint64_t)(WORD - 1);
	     at + (members ? MEMBER_BYTES : WORD) <= to; at += WORD) {
		struct snapshot_edge edge = { .source = source, .at = at - start };
		uint64_t word = run->words[(at - run->start) / WORD];

		if (at + WORD > to)
			word = half_of(word, 0);
		edge.target = target_of(scan, word, &edge.into);
		if (edge.target)
			snapshot_pack_edge(&scan->packed, &edge);
		else if (members && word)
			scan_members(scan, edge, word);
	}
}

/* True if the edge belongs to malloc's free lists: see "A word of the C library's data" in
 * edge_scan.h. */
static bool is_free_list(const struct edge_scan *scan, const struct scan_root *root,
			 const struct snapshot_edge *edge)
{
	return root->allocator && edge->into &&
	       edge->into + WORD >= scan->blocks.at[edge->target - 1].size;
}

/* True if the word is an entry of the table that JavaScript's wrappers point into. */
static bool is_wrapper(const struct edge_scan *scan, uint64_t word, struct snapshot_edge *edge)
{
	uint64_t address = word >> WRAPPER_SHIFT;

	if (!member_cage_holds(&scan->cage, address) || address % WORD)
		return false;
	edge->target = target_of(scan, address, &edge->into);
	return edge->target && edge->into < scan->blocks.at[edge->target - 1].size;
}

static void push_root_edge(struct edge_scan *scan, const struct scan_root *root, uint64_t address,
			   struct snapshot_edge edge)
{
	edge.source = root_number(scan, root);
	edge.at = root->kind == ROOT_VARIABLE ? 0 : address - root->vaddr;
	*vec_push(&scan->root_edges) = edge;
}

static void scan_outside(struct edge_scan *scan, const struct copied_run *run, size_t area,
			 uint64_t from, uint64_t to)
{
	static const struct scan_root wrappers = { .kind = ROOT_WRAPPER };
	uint64_t at = (from + WORD - 1) & ~(uint64_t)(WORD - 1), until = 0;
	struct scan_root root = { 0 };

	for (; at + WORD <= to; at += WORD) {
		uint64_t word = run->words[(at - run->start) / WORD];
		struct snapshot_edge edge = { 0 };

		if (at >= until) {
			until = to;
			root = root_at(scan, area, at, &until);
			if (root.kind == ROOT_NONE) {
				at = (until & ~(uint64_t)(WORD - 1)) - WORD;
				continue;
			}
		}
		if (root.kind == ROOT_MAPPING && is_wrapper(scan, word, &edge)) {
			push_root_edge(scan, &wrappers, at, edge);
			continue;
		}
		edge.target = target_of(scan, word, &edge.into);
		if (!edge.target)
			continue;
		if (root.kind == ROOT_VARIABLE) {
			root = root_at(scan, area, at, &until);
			if (is_free_list(scan, &root, &edge))
				continue;
		}
		push_root_edge(scan, &root, at, edge);
	}
}

/* Finds the areas that hold blocks: memory of allocators. */
static void find_allocators(struct edge_scan *scan)
{
	size_t i = 0;

	scan->has_blocks = mem_zero(scan->copy.areas.count + 1, sizeof(*scan->has_blocks));
	for (size_t a = 0; a < scan->copy.areas.count; a++) {
		while (i < scan->blocks.count &&
		       scan->blocks.at[i].address < scan->copy.areas.at[a].start)
			i++;
		scan->has_blocks[a] = i < scan->blocks.count &&
				      scan->blocks.at[i].address < scan->copy.areas.at[a].end;
	}
}

static void scan_memory(struct edge_scan *scan)
{
	size_t area = 0, b = 0;

	for (size_t r = 0; r < scan->copy.runs.count; r++) {
		const struct copied_run *run = &scan->copy.runs.at[r];
		uint64_t at = run->start;

		while (scan->copy.areas.at[area].end <= run->start)
			area++;
		while (at < run->end) {
			const struct snapshot_block *block;
			uint64_t end;

			while (b < scan->blocks.count &&
			       scan->blocks.at[b].address + scan->blocks.at[b].size <= at)
				b++;
			block = b < scan->blocks.count ? &scan->blocks.at[b] : NULL;
			if (block && block->address <= at) {
				end = least(run->end, block->address + block->size);
				if (b + 1 < scan->blocks.count && block[1].address > at)
					end = least(end, block[1].address);
				scan_block(scan, run, (uint32_t)b + 1, at, end);
				if (b + 1 < scan->blocks.count && block[1].address <= end)
					b++;
			} else {
				end = block ? least(run->end, block->address) : run->end;
				scan_outside(scan, run, area, at, end);
			}
			at = end;
		}
	}
}

static void scan_registers(struct edge_scan *scan)
{
	for (size_t i = 0; i < scan->thread_count; i++) {
		const struct user_regs_struct *g = &scan->threads[i].registers;
		const uint64_t words[REGISTERS] = { g->rax, g->rbx, g->rcx, g->rdx, g->rsi, g->rdi,
						    g->rbp, g->rsp, g->r8,  g->r9,  g->r10, g->r11,
						    g->r12, g->r13, g->r14, g->r15 };
		struct scan_root root = { .kind = ROOT_REGISTER,
					  .tid = (uint32_t)scan->threads[i].tid };

		for (unsigned k = 0; k < REGISTERS; k++) {
			struct snapshot_edge edge = { .at = k * WORD };

			edge.target = target_of(scan, words[k], &edge.into);
			if (!edge.target)
				continue;
			edge.source = root_number(scan, &root);
			*vec_push(&scan->root_edges) = edge;
		}
	}
}

/* Adds edges to blocks that are used as stacks: such a block is reachable, even if no pointer leads
 * to it. */
static void scan_allocated_stacks(struct edge_scan *scan)
{
	for (size_t i = 0; i < scan->thread_count; i++) {
		uint64_t into;
		uint32_t at = target_of(scan, scan->threads[i].registers.rsp, &into);
		struct scan_root root = { .kind = ROOT_STACK,
					  .tid = (uint32_t)scan->threads[i].tid,
					  .vaddr = stack_from(scan, i) };

		if (at)
			*vec_push(&scan->root_edges) =
				(struct snapshot_edge){ .source = root_number(scan, &root),
							.target = at,
							.into = into };
	}
}

ORDER_BY(edge_by_source, struct snapshot_edge, ORDER_UP(source) ?: ORDER_UP(at))

void edge_scan_run(struct edge_scan *scan)
{
	index_blocks(scan);
	if (scan->thread_count)
		qsort(scan->threads, scan->thread_count, sizeof(*scan->threads), thread_by_sp);
	find_allocators(scan);
	find_cage(scan);
	for (size_t i = 0; i < scan->blocks.count; i++)
		snapshot_pack_block(&scan->packed, &scan->blocks.at[i]);
	scan_memory(scan);
	scan_registers(scan);
	scan_allocated_stacks(scan);
	if (scan->root_edges.count)
		qsort(scan->root_edges.at, scan->root_edges.count, sizeof(*scan->root_edges.at),
		      edge_by_source);
	for (size_t i = 0; i < scan->root_edges.count; i++) {
		struct snapshot_edge edge = scan->root_edges.at[i];

		edge.source += (uint32_t)scan->blocks.count;
		snapshot_pack_edge(&scan->packed, &edge);
	}
	snapshot_pack_end(&scan->packed);
}

void edge_scan_deinit(struct edge_scan *scan)
{
	memory_copy_deinit(&scan->copy);
	free(scan->threads);
	free(scan->blocks.at);
	free(scan->modules.at);
	free(scan->own.at);
	free(scan->roots.at);
	snapshot_packer_deinit(&scan->packed);
	mem_pages_free(scan->pages, (scan->page_mask + 1) * sizeof(*scan->pages));
	free(scan->spanning.at);
	free(scan->root_edges.at);
	free(scan->has_blocks);
	*scan = (struct edge_scan){ 0 };
}
