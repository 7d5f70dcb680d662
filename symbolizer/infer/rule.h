/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: shared by the rules about one return address. Only site_type.c and the rule_*.c files
 * include it; site_type.c applies the rules in the order of their trust.
 *
 * Runs: sidecar, CLI. Signals: no. Allocates: names. Threads: one at a time.
 */
#ifndef SHINY_SYM_RULE_H
#define SHINY_SYM_RULE_H

#include <elfutils/libdw.h>

#include "../dwarf/debug_scopes.h"
#include "../dwarf/debug_variables.h"
#include "../dwarf/die_type.h"
#include "evidence.h"
#include "site_answer.h"
#include "site_reader.h"

enum {
	RULE_SCOPES = 64,
	RULE_INLINED = 48,
	RULE_VARIABLES = 512,
	RULE_THROWN_HEADER = 128, /* bytes before a thrown object */
};

/* The work on one return address. Invariant: through < scope_count, or both are 0. */
struct rule_work {
	const struct site_reader *reader;
	uint64_t ret;
	struct debug_scope scopes[RULE_SCOPES]; /* of ret - 1, innermost first */
	size_t scope_count;
	size_t through;  /* index of the scope that receives the block: the first that isn't
	                  * operator new and doesn't pass it on */
	uint32_t line;   /* of the call in that scope; 0: unknown */
	uint64_t low, high; /* bounds of the function */
	const char *symbol; /* the function's mangled symbol; NULL: unknown */
	bool called;     /* a call precedes ret: at `call`, to `callee` */
	uint64_t call;
	struct flow_callee callee;
	bool entry;      /* the callee is, or jumps to, an allocation function that we record */
	bool makes_array; /* the callee is operator new[] */
	struct flow flow; /* empty if the pointer couldn't be followed */
	struct site_answer *out;
	struct sym_evidence *evidence;
};

/* Sets the candidate's name, size, flags and leading classes from a type. */
void rule_describe(struct rule_work *work, const struct die_type *type, struct site_candidate *out);
/* The same from a name alone; the size is known for base types, pointers and defined types. */
void rule_describe_name(struct rule_work *work, const char *name, struct site_candidate *out);
/* Appends the candidate unless the answer is full. If the answer has the same one, that one takes
 * over its better members. */
void rule_add(struct rule_work *work, const struct site_candidate *candidate);

/* Returns the mangled symbol that covers `vaddr`; NULL: none. *folded: several C++ functions are
 * there, not only one under several names. */
const char *rule_symbol(struct rule_work *work, uint64_t vaddr, bool *folded);
/* True for malloc, operator new and their like. */
bool rule_is_entry(const char *symbol);

/* True if a rule's pattern stands for any member of a class. Such a rule does not apply to code of
 * which only the name is known. */
bool rule_names_any(const char *path);

/* The parts of a demangled function name. */
struct rule_path {
	char path[512];   /* without template arguments: "std::vector::push_back" */
	char class[2048]; /* the class with its arguments: "std::vector<int, std::allocator<int> >";
	                   * "": none */
	char own[1024];   /* the function's own template arguments with their brackets; "": none */
};
/* Splits a demangled name. False: it can't be split. */
bool rule_path_of(const char *demangled, struct rule_path *out);
/* Copies argument `index` of "name<a, b>". False: there is none, or `room` is too small. */
bool rule_argument(const char *text, unsigned index, char *out, size_t room);

/* True if the instruction is part of an inlined destructor. */
bool rule_in_destructor(struct rule_work *work, uint64_t vaddr);

/* True if the variable holds the pointer before the state's instruction. */
bool rule_holds(const struct flow_state *state, const struct debug_variable *variable);
/* Finds a frame slot with the pointer that lies in a variable of `bytes` bytes in memory; *offset
 * is its position in the variable. */
bool rule_slot_in(const struct flow_state *state, const struct debug_variable *variable,
		  uint64_t bytes, uint64_t *offset);

/* The address of an `object` plus `displacement`; `indexed`: plus a multiple of something. An array
 * stands for any of its elements. */
struct rule_base {
	struct die_type object;
	int64_t displacement;
	bool indexed;
};
/* Finds the address that `reg` holds before the instruction at `vaddr`. False: unknown. */
bool rule_base_of(struct rule_work *work, uint64_t vaddr, unsigned reg, struct rule_base *out);
/* The same for the frame address `displacement` bytes from rsp or rbp. */
bool rule_base_of_frame(struct rule_work *work, uint64_t vaddr, unsigned reg, int64_t displacement,
			struct rule_base *out);

/* True if the member holds the block of a polymorphic variable of Fortran's. */
bool rule_class_data(Dwarf_Die *container, const char *member);
/* Finds the type that such a variable then holds, from the code after the call. False: the code
 * doesn't tell. */
bool rule_class_actual(struct rule_work *work, const struct die_type *declared,
		       struct die_type *out);

/* True: it has an answer, which later rules can't improve. */
bool rule_container(struct rule_work *work);
bool rule_thrown(struct rule_work *work);
void rule_constructor(struct rule_work *work);
void rule_variable(struct rule_work *work);

#endif
