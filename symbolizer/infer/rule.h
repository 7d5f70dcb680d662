/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule.h: what the rules about one return address share. Only site_type.c and the rule_*.c files
 * include it; site_type.c asks the rules in the order of their trust.
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
	RULE_THROWN_HEADER = 128, /* bytes in front of an object that is thrown */
};

/* The work on one return address. Invariant: through < scope_count, or both are 0. */
struct rule_work {
	const struct site_reader *reader;
	uint64_t ret;
	struct debug_scope scopes[RULE_SCOPES]; /* of ret - 1, innermost first */
	size_t scope_count;
	size_t through;  /* the scope that wants the block: the first that isn't an operator new, or
	                  * passes it on */
	uint32_t line;   /* of the call in that scope; 0 unknown */
	uint64_t low, high; /* the function */
	const char *symbol; /* the function's, mangled; NULL unknown */
	bool called;     /* there is a call in front of ret: at `call`, to `callee` */
	uint64_t call;
	struct flow_callee callee;
	bool entry;      /* the callee is an allocation function as we record them, or jumps to
	                  * one */
	bool makes_array; /* the callee is operator new[] */
	struct flow flow; /* empty where it couldn't be followed */
	struct site_answer *out;
	struct sym_evidence *evidence;
};

/* Name, size, flags and classes at its start. */
void rule_describe(struct rule_work *work, const struct die_type *type, struct site_candidate *out);
/* Likewise from a name alone; the size is known if it is a base type, a pointer, or has a
 * definition. */
void rule_describe_name(struct rule_work *work, const char *name, struct site_candidate *out);
/* Appends it unless it is full, or has the same one: that takes over what is better. */
void rule_add(struct rule_work *work, const struct site_candidate *candidate);

/* The mangled symbol that covers `vaddr`; NULL: none, or several functions are there that aren't
 * the same one under other names. */
const char *rule_symbol(struct rule_work *work, uint64_t vaddr, bool *folded);
/* Is it malloc, operator new or one of theirs? */
bool rule_is_entry(const char *symbol);

/* A rule's pattern that stands for any member of a class. It says nothing about code of which only
 * the name is known. */
bool rule_names_any(const char *path);

/* A demangled function name in parts. */
struct rule_path {
	char path[512];   /* without template arguments: "std::vector::push_back" */
	char class[2048]; /* the class with them: "std::vector<int, std::allocator<int> >"; ""
	                   * none */
	char own[1024];   /* the function's own template arguments with their brackets; "" none */
};
/* False: not a name that can be taken apart. */
bool rule_path_of(const char *demangled, struct rule_path *out);
/* Argument number `index` of "name<a, b>"; false: there is none, or it doesn't fit. */
bool rule_argument(const char *text, unsigned index, char *out, size_t room);

/* Is the instruction part of an inlined destructor? */
bool rule_in_destructor(struct rule_work *work, uint64_t vaddr);

/* Is the variable where the pointer is, in front of the state's instruction? */
bool rule_holds(const struct flow_state *state, const struct debug_variable *variable);
/* The slot of the frame that lies in a variable of `bytes` bytes in memory, and where in it. */
bool rule_slot_in(const struct flow_state *state, const struct debug_variable *variable,
		  uint64_t bytes, uint64_t *offset);

/* The address of an `object` plus `displacement`; `indexed`: and plus a multiple of something. An
 * array stands for any of its elements. */
struct rule_base {
	struct die_type object;
	int64_t displacement;
	bool indexed;
};
/* What `reg` holds in front of the instruction at `vaddr`; false: not known. */
bool rule_base_of(struct rule_work *work, uint64_t vaddr, unsigned reg, struct rule_base *out);
/* Likewise what is at `displacement` of the frame that rsp or rbp is in. */
bool rule_base_of_frame(struct rule_work *work, uint64_t vaddr, unsigned reg, int64_t displacement,
			struct rule_base *out);

/* Is the member that of a polymorphic variable of Fortran's which holds the block? */
bool rule_class_data(Dwarf_Die *container, const char *member);
/* The type that the code behind the call says such a variable then holds; false: it does not. */
bool rule_class_actual(struct rule_work *work, const struct die_type *declared,
		       struct die_type *out);

/* True: it has an answer, which the rules behind it can't better. */
bool rule_container(struct rule_work *work);
bool rule_thrown(struct rule_work *work);
void rule_constructor(struct rule_work *work);
void rule_variable(struct rule_work *work);

#endif
