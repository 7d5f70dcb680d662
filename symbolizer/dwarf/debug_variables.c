/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debug_variables.c: see debug_variables.h.
 *
 * A place is a register, memory at a register or at an address in memory, or a static address:
 * targets of code that writes; or a register plus a constant, which an optimised pointer into an
 * array often is. DWARF can describe more (a value computed from several others, one in pieces, the
 * value at the function's entry, thread-local storage); such variables are left out. The call frame
 * information, of .eh_frame or of .debug_frame, turns a frame base (DW_OP_call_frame_cfa) into rsp
 * or rbp plus a displacement at the address, which the instructions there use.
 *
 * The rules follow a pointer and need the variables at every instruction on its way, hundreds of
 * times a function. Location lists are the larger part of a gcc program's debug information. So the
 * first question about a scope copies everything from libdw: the variables, their blocks, and their
 * places in each range of addresses. All others read an array. (yaml-cpp's tests, 34 MB of
 * .debug_info: 11.8 s before, 0.2 s now.) The arrays are freed with the DWARF.
 */
#include "debug_variables.h"

#include <dwarf.h>
#include <stdlib.h>

#include "../../src/base/hash.h"
#include "../../src/base/hash_table.h"
#include "debug_overlay.h"
#include "debug_scopes.h"
#include "debug_unit.h"
#include "die.h"

#define BLOCKS_MAX 32
#define CHILDREN_MAX (1u << 20)
#define ITEMS_MAX (1u << 16)
#define PIECES_MAX (1u << 20)
#define REGISTERS 17 /* x86-64's general ones and the return address */

/* The frame of one function at one address; the base is computed when the first variable needs
 * it. */
struct frame_base {
	uint64_t vaddr;
	Dwarf_Die function;
	bool tried, known;
	unsigned reg;
	int64_t displacement;
};

/* The call frame information of .eh_frame. It belongs to the file, and remains when the DWARF is
 * closed. */
struct frame_tables {
	Elf *code;
	Dwarf_CFI *cfi; /* NULL: there is none */
};

static void frame_tables_free(void *kept)
{
	struct frame_tables *tables = kept;

	if (tables->cfi)
		dwarf_cfi_end(tables->cfi);
	if (tables->code)
		elf_end(tables->code);
	free(tables);
}

static const struct frame_tables *frame_tables_of(struct debug_units *units)
{
	static const struct debug_slot slot = { .free = frame_tables_free, .stays = true };
	struct frame_tables **kept = (struct frame_tables **)debug_units_slot(units, &slot);
	const struct binary *file = debug_units_file(units);

	if (*kept)
		return *kept;
	*kept = mem_zero(1, sizeof(**kept));
	elf_version(EV_CURRENT);
	/* libelf requires writable memory, but doesn't write for a file of our byte order */
	(*kept)->code = elf_memory((char *)file->data, file->bytes);
	/* each call creates new tables; dwarf_getcfi() caches its own */
	(*kept)->cfi = (*kept)->code ? dwarf_getcfi_elf((*kept)->code) : NULL;
	return *kept;
}

/* Finds the base of the frame: rsp or rbp plus a displacement. */
static bool frame_address(struct debug_units *units, uint64_t vaddr, unsigned *reg,
			  int64_t *displacement)
{
	for (int i = 0; i < 2; i++) {
		Dwarf_CFI *cfi =
			i ? dwarf_getcfi(debug_units_dwarf(units)) : frame_tables_of(units)->cfi;
		Dwarf_Frame *frame = NULL;
		Dwarf_Op *ops;
		size_t count = 0;
		bool known = false;

		if (!cfi || dwarf_cfi_addrframe(cfi, vaddr, &frame))
			continue;
		if (!dwarf_frame_cfa(frame, &ops, &count) && count == 1) {
			if (ops[0].atom == DW_OP_bregx) {
				*reg = (unsigned)ops[0].number;
				*displacement = (int64_t)ops[0].number2;
				known = true;
			} else if (ops[0].atom >= DW_OP_breg0 && ops[0].atom <= DW_OP_breg31) {
				*reg = ops[0].atom - DW_OP_breg0;
				*displacement = (int64_t)ops[0].number;
				known = true;
			}
		}
		free(frame);
		if (known)
			return *reg == 6 || *reg == 7;
	}
	return false;
}

static void find_base(struct debug_units *units, struct frame_base *frame)
{
	Dwarf_Attribute attribute;
	Dwarf_Op *ops;
	size_t count;

	frame->tried = true;
	if (!dwarf_attr_integrate(&frame->function, DW_AT_frame_base, &attribute) ||
	    dwarf_getlocation_addr(&attribute, frame->vaddr, &ops, &count, 1) != 1 || count != 1)
		return;
	if (ops[0].atom == DW_OP_call_frame_cfa) {
		frame->known =
			frame_address(units, frame->vaddr, &frame->reg, &frame->displacement);
	} else if (ops[0].atom == DW_OP_reg6 || ops[0].atom == DW_OP_reg7) {
		frame->known = true; /* clang: the register's value is the base */
		frame->reg = ops[0].atom - DW_OP_reg0;
	} else if (ops[0].atom == DW_OP_breg6 || ops[0].atom == DW_OP_breg7) {
		/* older gcc: a list with a piece for each stage of the prologue */
		frame->known = true;
		frame->reg = ops[0].atom - DW_OP_breg0;
		frame->displacement = (int64_t)ops[0].number;
	}
}

/* Kind of a variable's place in a range of addresses. */
enum piece_kind {
	PIECE_REGISTER,
	PIECE_MEMORY,
	PIECE_STATIC,
	PIECE_VALUE,
	PIECE_FRAME /* at the frame base + displacement */
};
struct location_piece {
	uint64_t low, high;
	int64_t displacement;
	enum piece_kind kind;
	unsigned reg;
	bool indirect; /* the place holds the variable's address */
	uint64_t into; /* offset of the word of the variable that is here */
};

/* A variable with its places, or a lexical block with its ranges: the block's variables and blocks
 * follow, up to `end`. */
struct scope_item {
	struct debug_variable variable; /* without the place */
	uint32_t first, count;          /* range in `pieces` */
	uint32_t end;                   /* 0: a variable */
};

/* The variables and blocks of a scope, in the order of its children. */
struct scope_variables {
	const struct unit_scope *scope;
	VEC(struct scope_item) items;
	VEC(struct location_piece) pieces;
	unsigned steps; /* limit of further DIEs */
};

/* The scopes read so far, until the DWARF is closed. */
struct variables_memo {
	VEC(struct scope_variables *) scopes;
	struct hash_table table; /* by scope */
};

static void variables_memo_free(void *kept)
{
	struct variables_memo *memo = kept;

	for (size_t i = 0; i < memo->scopes.count; i++) {
		free(memo->scopes.at[i]->items.at);
		free(memo->scopes.at[i]->pieces.at);
		free(memo->scopes.at[i]);
	}
	free(memo->scopes.at);
	hash_table_deinit(&memo->table);
	free(memo);
}

/* Reads a location of one operation. */
static bool place_of(Dwarf_Attribute *attribute, const Dwarf_Op *op, struct location_piece *out)
{
	Dwarf_Attribute indexed;
	Dwarf_Addr address;

	if (op->atom == DW_OP_addr || op->atom == DW_OP_addrx || op->atom == DW_OP_GNU_addr_index) {
		address = op->number;
		if (op->atom != DW_OP_addr && (dwarf_getlocation_attr(attribute, op, &indexed) ||
					       dwarf_formaddr(&indexed, &address)))
			return false;
		out->kind = PIECE_STATIC;
		out->displacement = (int64_t)address;
	} else if (op->atom >= DW_OP_reg0 && op->atom <= DW_OP_reg31) {
		out->kind = PIECE_REGISTER;
		out->reg = op->atom - DW_OP_reg0;
	} else if (op->atom == DW_OP_regx) {
		out->kind = PIECE_REGISTER;
		out->reg = (unsigned)op->number;
	} else if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31) {
		out->kind = PIECE_MEMORY;
		out->reg = op->atom - DW_OP_breg0;
		out->displacement = (int64_t)op->number;
	} else if (op->atom == DW_OP_bregx) {
		out->kind = PIECE_MEMORY;
		out->reg = (unsigned)op->number;
		out->displacement = (int64_t)op->number2;
	} else if (op->atom == DW_OP_fbreg) {
		out->kind = PIECE_FRAME;
		out->displacement = (int64_t)op->number;
	} else {
		return false;
	}
	return out->reg < REGISTERS;
}

/* Reads a whole location. False: it is no place. */
static bool piece_of(Dwarf_Attribute *attribute, const Dwarf_Op *ops, size_t count,
		     struct location_piece *out)
{
	if (count == 1)
		return place_of(attribute, ops, out);
	if (count != 2 || !place_of(attribute, ops, out))
		return false;
	/* an argument passed by its address, or an automatic array of Fortran's */
	out->indirect = ops[1].atom == DW_OP_deref &&
			(out->kind == PIECE_FRAME || out->kind == PIECE_MEMORY);
	if (out->indirect)
		return true;
	if (ops[1].atom != DW_OP_stack_value || out->kind != PIECE_MEMORY)
		return false;
	out->kind = PIECE_VALUE;
	return true;
}

/* Fills `out` except its place. */
static bool describe(struct debug_units *units, Dwarf_Die *die, struct debug_variable *out)
{
	Dwarf_Attribute attribute;
	const char *name;

	*out = (struct debug_variable){ .die = *die,
					.parameter = dwarf_tag(die) == DW_TAG_formal_parameter };
	if (!dwarf_attr_integrate(die, DW_AT_type, &attribute) ||
	    !dwarf_formref_die(&attribute, &out->type))
		return false;
	name = dwarf_attr_integrate(die, DW_AT_name, &attribute) ? dwarf_formstring(&attribute)
								 : NULL;
	out->name = name ? names_text(debug_units_names(units), name) : NULL;
	return true;
}

static void add_piece(struct scope_variables *to, const struct location_piece *piece)
{
	if (to->pieces.count < PIECES_MAX)
		*vec_push(&to->pieces) = *piece;
}

/* Adds an item, valid until the next one is added. NULL: there are too many. */
static struct scope_item *add_item(struct scope_variables *to)
{
	struct scope_item *item;

	if (to->items.count >= ITEMS_MAX)
		return NULL;
	item = vec_push(&to->items);
	*item = (struct scope_item){ .first = (uint32_t)to->pieces.count };
	return item;
}

/* Adds the pieces of a variable that are words in registers: often pointers. */
static void take_words(struct scope_variables *to, Dwarf_Attribute *attribute, const Dwarf_Op *ops,
		       size_t count, const struct location_piece *range)
{
	uint64_t into = 0;
	size_t first = 0;

	for (size_t i = 0; i < count; i++) {
		struct location_piece piece = *range;

		if (ops[i].atom != DW_OP_piece)
			continue;
		piece.into = into;
		if (i > first && ops[i].number == 8 &&
		    piece_of(attribute, ops + first, i - first, &piece) &&
		    (piece.kind == PIECE_REGISTER || piece.kind == PIECE_VALUE))
			add_piece(to, &piece);
		into += ops[i].number;
		first = i + 1;
	}
}

static void take_variable(struct debug_units *units, Dwarf_Die *die, struct scope_variables *to)
{
	Dwarf_Attribute attribute;
	struct debug_variable variable;
	size_t before = to->pieces.count, known, count;
	ptrdiff_t at = 0;
	Dwarf_Addr base, low, high;
	struct scope_item *item;
	Dwarf_Op *ops;

	if (!dwarf_attr_integrate(die, DW_AT_location, &attribute) ||
	    !describe(units, die, &variable))
		return;
	item = add_item(to);
	if (!item)
		return;
	item->variable = variable;
	/* an address in two ranges belongs to the first one: unknown places are stored as holes */
	for (unsigned i = 0;
	     i < CHILDREN_MAX &&
	     (at = dwarf_getlocations(&attribute, at, &base, &low, &high, &ops, &count)) > 0;
	     i++) {
		struct location_piece piece = { .low = low, .high = high };

		if (low >= high)
			continue;
		known = to->pieces.count;
		if (count && ops[count - 1].atom == DW_OP_piece)
			take_words(to, &attribute, ops, count, &piece);
		else if (piece_of(&attribute, ops, count, &piece))
			add_piece(to, &piece);
		if (to->pieces.count == known)
			add_piece(to, &(struct location_piece){
					      .low = low, .high = high, .reg = REGISTERS });
	}
	item->count = (uint32_t)(to->pieces.count - before);
	if (!item->count)
		to->items.count--;
}

static void take_children(struct debug_units *units, Dwarf_Die *around, unsigned nest,
			  struct scope_variables *to);

static void take_block(struct debug_units *units, Dwarf_Die *die, unsigned nest,
		       struct scope_variables *to)
{
	size_t index = to->items.count, before = to->pieces.count;
	struct scope_item *item = add_item(to);
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	if (!item)
		return;
	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		if (low < high)
			add_piece(to, &(struct location_piece){ .low = low, .high = high });
	item->count = (uint32_t)(to->pieces.count - before);
	if (item->count)
		take_children(units, die, nest + 1, to);
	to->items.at[index].end = (uint32_t)to->items.count;
	if (to->items.count == index + 1) { /* it is empty */
		to->items.count = index;
		to->pieces.count = before;
	}
}

static void take_children(struct debug_units *units, Dwarf_Die *around, unsigned nest,
			  struct scope_variables *to)
{
	Dwarf_Die child;

	if (nest > BLOCKS_MAX || dwarf_child(around, &child))
		return;
	do {
		int tag = dwarf_tag(&child);

		if (!to->steps)
			return;
		to->steps--;
		if (tag == DW_TAG_lexical_block)
			take_block(units, &child, nest, to);
		else if (tag == DW_TAG_variable || tag == DW_TAG_formal_parameter)
			take_variable(units, &child, to);
	} while (die_next(&child));
}

static const struct scope_variables *variables_of(struct debug_units *units,
						  struct unit_scope *scope)
{
	static const struct debug_slot slot = { .free = variables_memo_free };
	struct variables_memo **kept = (struct variables_memo **)debug_units_slot(units, &slot);
	uint64_t hash = hash_mix((uintptr_t)scope);
	struct scope_variables *to;

	if (!*kept)
		*kept = mem_zero(1, sizeof(**kept));

	uint32_t at =
		hash_table_find(&(*kept)->table, hash, i, (*kept)->scopes.at[i]->scope == scope);

	if (at != HASH_NONE)
		return (*kept)->scopes.at[at];
	to = mem_zero(1, sizeof(*to));
	to->scope = scope;
	to->steps = CHILDREN_MAX;
	take_children(units, &scope->die, 0, to);
	hash_table_add(&(*kept)->table, hash, (uint32_t)(*kept)->scopes.count);
	*vec_push(&(*kept)->scopes) = to;
	return to;
}

static const struct location_piece *piece_at(const struct scope_variables *variables,
					     const struct scope_item *item, uint64_t vaddr)
{
	for (uint32_t i = 0; i < item->count; i++) {
		const struct location_piece *piece = &variables->pieces.at[item->first + i];

		if (vaddr >= piece->low && vaddr < piece->high)
			return piece;
	}
	return NULL;
}

/* Returns the next piece that is a word of the variable in the same range; NULL: there are no
 * more. */
static const struct location_piece *next_word(const struct scope_variables *variables,
					      const struct scope_item *item,
					      const struct location_piece *piece)
{
	const struct location_piece *next = piece + 1;

	return next < &variables->pieces.at[item->first + item->count] && next->low == piece->low &&
			       next->high == piece->high && next->into > piece->into
		       ? next
		       : NULL;
}

/* False: the piece is no place. */
static bool set_place(struct debug_units *units, const struct location_piece *piece,
		      struct frame_base *frame, struct debug_variable *out)
{
	static const enum debug_place places[] = { [PIECE_REGISTER] = DEBUG_PLACE_REGISTER,
						   [PIECE_MEMORY] = DEBUG_PLACE_MEMORY,
						   [PIECE_STATIC] = DEBUG_PLACE_STATIC,
						   [PIECE_VALUE] = DEBUG_PLACE_VALUE,
						   [PIECE_FRAME] = DEBUG_PLACE_MEMORY };

	if (piece->reg >= REGISTERS)
		return false;
	out->place = piece->indirect ? DEBUG_PLACE_INDIRECT : places[piece->kind];
	out->reg = piece->reg;
	out->displacement = piece->displacement;
	out->into = piece->into;
	if (piece->kind != PIECE_FRAME)
		return true;
	if (!frame->tried)
		find_base(units, frame);
	out->reg = frame->reg;
	out->displacement =
		(int64_t)((uint64_t)frame->displacement + (uint64_t)piece->displacement);
	return frame->known;
}

/* Replaces type and name of the variable by those of the overlay's. False: the overlay has none. */
static bool overlaid(struct debug_units *units, struct debug_variable *variable)
{
	Dwarf_Die die = variable->die;

	switch (debug_overlay_die(units, &die)) {
	case DEBUG_OVERLAY_NONE: return true;
	case DEBUG_OVERLAY_OTHER: return describe(units, &die, variable);
	default: return false;
	}
}

size_t debug_variables_at(struct debug_units *units, uint64_t vaddr, struct debug_variable *out,
			  size_t room)
{
	struct frame_base frame = { .vaddr = vaddr };
	const struct code_range *range;
	struct debug_unit *unit;
	struct unit_scope *scope = debug_scopes_innermost(units, vaddr, &unit, &range),
			  *outer = scope;
	size_t count = 0;

	if (!scope)
		return 0;
	/* the outermost function has the frame */
	for (unsigned hops = 0; outer->parent != NO_SCOPE && hops < DEBUG_DEPTH_MAX; hops++)
		outer = &unit->scopes.at[outer->parent];
	frame.function = outer->die;
	for (unsigned depth = 0; depth < DEBUG_DEPTH_MAX; depth++) {
		const struct scope_variables *variables = variables_of(units, scope);

		for (size_t i = 0; i < variables->items.count && count < room;) {
			const struct scope_item *item = &variables->items.at[i];
			const struct location_piece *piece = piece_at(variables, item, vaddr);

			if (item->end) {
				i = piece ? i + 1 : item->end;
				continue;
			}
			for (; piece && count < room; piece = next_word(variables, item, piece)) {
				out[count] = item->variable;
				if (!overlaid(units, &out[count]))
					break;
				out[count].depth = depth;
				count += set_place(units, piece, &frame, &out[count]);
			}
			i++;
		}
		if (scope->parent == NO_SCOPE)
			break;
		scope = &unit->scopes.at[scope->parent];
	}
	return count;
}

bool debug_variables_static(struct debug_units *units, Dwarf_Die *die, struct debug_variable *out)
{
	Dwarf_Attribute attribute;
	struct location_piece piece = { .low = 0 };
	Dwarf_Op *ops;
	size_t count;

	if (!dwarf_attr(die, DW_AT_location, &attribute) ||
	    dwarf_getlocation_addr(&attribute, 0, &ops, &count, 1) != 1 || count != 1 ||
	    !place_of(&attribute, &ops[0], &piece) || piece.kind != PIECE_STATIC ||
	    !describe(units, die, out))
		return false;
	out->place = DEBUG_PLACE_STATIC;
	out->displacement = piece.displacement;
	return true;
}
