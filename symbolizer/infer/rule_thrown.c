/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rule_thrown.c: the type of a thrown object.
 *
 * `throw T(...)` is p = __cxa_allocate_exception(sizeof(T)), T's constructor on p, and then
 * __cxa_throw(p, &typeid(T), destructor). std::make_exception_ptr of libstdc++ calls
 * __cxa_init_primary_exception in place of the last. Both get the type_info, which tells the type
 * whatever the constructor was. gcc puts throwing code into a part of its own. Without debug
 * information the owner of a part is unknown, so the walk then follows each jump that is not to the
 * start of a function.
 *
 * The block has the run time's header before the object, 128 bytes in libstdc++ and in libc++abi
 * for x86-64; libc++abi rounds the whole up to 16.
 *
 * Not covered: an executable without symbols that has the run time linked in.
 */
#include <string.h>

#include "../flow/flow_calls.h"
#include "rule.h"
#include "vtable.h"

static const char *type_of(const struct rule_work *work, const struct flow_fact *fact)
{
	struct vtable_reader reader = { .file = work->reader->code.file,
					.relocs = work->reader->code.relocs,
					.symbols = work->reader->code.symbols,
					.names = work->reader->names,
					.label = "" };

	if (fact->value)
		return vtable_type_info(&reader, fact->value);
	return fact->import ? vtable_type_import(work->reader->names, fact->import) : NULL;
}

static void add_thrown(struct rule_work *work, const struct flow *flow)
{
	struct site_candidate candidate = { .rule = SYM_RULE_THROWN,
					    .header = RULE_THROWN_HEADER,
					    .flags = SITE_CERTAIN };

	for (size_t i = 0; i < flow->fact_count; i++) {
		const struct flow_fact *fact = &flow->facts[i];
		const char *type;

		if (fact->kind == FLOW_LOST)
			candidate.flags = 0;
		if ((fact->kind != FLOW_CALL && fact->kind != FLOW_JUMP) || fact->argument ||
		    fact->offset || !flow_throws(fact->callee.symbol))
			continue;
		type = type_of(work, fact);
		evidence_say(work->evidence, 1, "0x%llx: %s() is told that it is %s",
			     (unsigned long long)fact->vaddr, fact->callee.symbol,
			     type ? type : "of a type that is not known");
		if (!type)
			return;
		rule_describe_name(work, type, &candidate);
		rule_add(work, &candidate);
	}
}

bool rule_thrown(struct rule_work *work)
{
	struct flow flow;

	if (!work->called || !work->callee.symbol ||
	    strcmp(work->callee.symbol, "__cxa_allocate_exception") != 0)
		return false;
	if (work->scope_count) {
		add_thrown(work, &work->flow);
	} else {
		if (flow_follow(&work->reader->code, work->ret, 0, 0, 0, 0, &flow))
			add_thrown(work, &flow);
		flow_deinit(&flow);
	}
	if (work->out->count > 1) {
		evidence_say(work->evidence, 1, "several types are thrown: none is believed");
		work->out->count = 0;
	}
	return work->out->count != 0;
}
