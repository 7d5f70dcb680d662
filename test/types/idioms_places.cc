// SPDX-License-Identifier: Apache-2.0
/*
 * idioms_places: C++ allocations whose pointer goes where its type only shows by a detour: elements of arrays, members of what another
 * container holds, unions, parts of a function that are hardly ever run; and classes that are named after a lambda.
 *
 * Runs: a test's target. See idioms.h for how the truth is told.
 */
#include "idioms_types.h"

#include <deque>

struct Slot { long key; Pod *item; };
static Slot slots[4];

IDIOM(global_array_member)
{
	Slot *at = &slots[unknown(2)];
	idiom_begin();
	slots[unknown(1)].item = new Pod;
	at->item = new Pod;
	idiom_end();
	one("Pod", sizeof(Pod));
	one("Pod", sizeof(Pod));
	if (keep) {
		leak(slots[1].item);
		leak(at->item);
	} else {
		delete slots[1].item;
		delete at->item;
	}
}
IDIOM(local_array_member)
{
	Slot local[4];
	Pod *table[4];
	escape(local);
	escape(table);
	idiom_begin();
	local[unknown(3)].item = new Pod;
	table[unknown(2)] = new Pod;
	idiom_end();
	one("Pod", sizeof(Pod));
	one("Pod", sizeof(Pod));
	escape(local);
	escape(table);
	if (keep) {
		leak(local[3].item);
		leak(table[2]);
	} else {
		delete local[3].item;
		delete table[2];
	}
}
IDIOM(array_of_each_member)
{
	idiom_begin();
	for (Slot &slot : slots) {
		slot.item = new Pod[unknown((size_t)3)];
		slot.key = 3;
	}
	idiom_end();
	many("Pod", sizeof(Pod));
	escape(slots);
	for (Slot &slot : slots) {
		if (keep)
			leak(slot.item);
		else
			delete[] slot.item;
	}
}
struct State { Slot *parent; long count; long *arguments; int level; };
IDIOM(member_of_last_element)
{
	/* where the compiler computes the end of the container and the object lies in front of that */
	static std::deque<State> states;
	states.emplace_back();
	escape(&states);
	idiom_begin();
	State &last = states.back();
	last.count = unknown(7L);
	last.arguments = new long[static_cast<size_t>(last.count)];
	idiom_end();
	one("long", 7 * sizeof(long));
	escape(&states);
	if (keep)
		leak(states.back().arguments);
	else
		delete[] states.back().arguments;
	states.pop_back();
}

struct Bag { int count; union { Pod **many; Pod *single; }; };
struct Pair { int kind; union { Pod *pod; Twin *twin; }; };
static Bag bag;
static Pair pair;
IDIOM(union_of_sizes)
{
	/* the size excludes the other pointer of the union */
	Bag *to = unknown(&bag);
	idiom_begin();
	to->many = new Pod *[unknown((size_t)6)];
	to->count = 6;
	idiom_end();
	one("Pod*", 6 * sizeof(Pod *));
	if (keep)
		leak(to->many);
	else
		delete[] to->many;
}
IDIOM(trap_union_of_one_size)
{
	Pair *to = unknown(&pair);
	idiom_begin();
	to->twin = new Twin;
	to->kind = 2;
	idiom_end();
	one("Twin|-", sizeof(Twin));
	if (keep)
		leak(to->twin);
	else
		delete to->twin;
}

struct Sixteen { /* as large as the pointer that owns it */
	Sixteen() : a(unknown(1)), b(2) {}
	long a, b;
};
struct Holder16 { explicit Holder16(bool) : p(new Sixteen) {} std::shared_ptr<Sixteen> p; };
IDIOM(owner_of_its_size)
{
	idiom_begin();
	Holder16 holder(keep);
	std::shared_ptr<Sixteen> p(new Sixteen);
	idiom_end();
	one("Sixteen", sizeof(Sixteen));
	many("~^std::.*(_Sp_counted_ptr|__shared_ptr_pointer)<Sixteen\\*", 0);
	one("Sixteen", sizeof(Sixteen));
	escape(p.get());
	escape(&holder);
	keep_or_drop(keep, p);
	keep_or_drop(keep, holder.p);
}

__attribute__((cold)) NOINLINE static void rarely(void) { escape(&slots); }
IDIOM(cold_part)
{
	/* compilers move what runs hardly ever to another part of the file, and come back from there */
	static Pod fallback;
	Pod *pod = &fallback;
	Animal *animal = nullptr;
	idiom_begin();
	if (__builtin_expect(unknown(true), false)) {
		rarely();
		pod = new Pod;
		animal = new Cat;
	}
	idiom_end();
	one("Pod", sizeof(Pod));
	one("Cat", sizeof(Cat));
	pod->a = 1;
	escape(pod);
	escape(animal);
	if (keep) {
		leak(pod);
		leak(animal);
	} else {
		delete pod;
		delete animal;
	}
}

struct TaskBase { virtual ~TaskBase() {} virtual void run() = 0; };
template <class F> struct Task : TaskBase {
	explicit Task(F f) : function(f) {}
	void run() override { function(); }
	F function;
};
template <class F> NOINLINE static TaskBase *post(F function) { return new Task<F>(function); }
IDIOM(class_of_lambda)
{
	long a = unknown(1L), b = unknown(2L);
	idiom_begin();
	TaskBase *first = post([a] { escape(&a); });
	TaskBase *second = post([a, b] { escape(&a); escape(&b); });
	TaskBase *third = post([b](auto...) { escape(&b); });
	idiom_end();
	one("~^Task<class_of_lambda.*(lambda|\\$_)", 2 * sizeof(long));
	one("~^Task<class_of_lambda.*(lambda|\\$_)", 3 * sizeof(long));
	one("~^Task<class_of_lambda.*(lambda|\\$_)", 2 * sizeof(long));
	for (TaskBase *task : { first, second, third }) {
		task->run();
		if (keep)
			leak(task);
		else
			delete task;
	}
}
