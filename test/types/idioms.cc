// SPDX-License-Identifier: Apache-2.0
/*
 * idioms: objects that C++ makes with new, and what a reader of call sites may get wrong about them.
 *
 * Runs: a test's target. See idioms.h for how the truth is told.
 */
#include "idioms_types.h"

#include <cstdlib>
#include <cstring>
#include <new>

/* The common form: one block by one expression. */
#define ONE(name, type_text, type, expression) \
	IDIOM(name) \
	{ \
		idiom_begin(); \
		auto *p = expression; \
		idiom_end(); \
		one(type_text, sizeof(type)); \
		escape(p); \
		if (keep) \
			leak(p); \
		else \
			delete p; \
	}

// ---- one polymorphic object ----
ONE(new_poly_ctor_out, "Dog", Dog, new Dog)
ONE(new_poly_ctor_inl, "Cat", Cat, new Cat)
ONE(new_poly_derived_inl, "Puppy", Puppy, new Puppy)
ONE(new_poly_same_size, "SameSize", SameSize, new SameSize)
ONE(new_poly_no_vdtor, "NoDestructor", NoDestructor, new NoDestructor)
ONE(new_multiple_inh, "Multiple", Multiple, new Multiple)
ONE(new_virtual_inh, "Diamond", Diamond, new Diamond)
ONE(new_poly_after_plain_base, "Mixed", Mixed, new Mixed)
ONE(new_struct_poly_1st_member, "WrapFirst", WrapFirst, new WrapFirst)
ONE(new_struct_poly_only_member, "WrapExact|=Dog", WrapExact, new WrapExact)
ONE(new_struct_poly_2nd_member, "WrapSecond", WrapSecond, new WrapSecond)
ONE(new_namespace_poly, "outer::inner::Deep", outer::inner::Deep, new outer::inner::Deep)
ONE(new_poly_template, "PolyBox<double>", PolyBox<double>, new PolyBox<double>(1.5))
ONE(new_poly_template_ptr, "PolyBox<Pod*>", PolyBox<Pod *>, new PolyBox<Pod *>(nullptr))

IDIOM(new_poly_into_base)
{
	idiom_begin();
	Animal *p = new Cat;
	idiom_end();
	one("Cat", sizeof(Cat));
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(new_poly_into_second_base)
{
	idiom_begin();
	Right *p = new Multiple;
	idiom_end();
	one("Multiple", sizeof(Multiple));
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(local_class_poly)
{
	class Local : public Animal {
	public:
		int legs() const override { return 8; }
		long eyes[4] = { 1, 2, 3, 4 };
	};
	idiom_begin();
	Animal *p = new Local;
	idiom_end();
	one("~(^|::)Local$", sizeof(Local));
	if (keep)
		leak(p);
	else
		delete p;
}
namespace {
struct NamelessPod { long x[11]; };
struct NamelessPoly { NamelessPoly() : x(1) {} virtual ~NamelessPoly() {} long x, y[2] = { 1, 2 }; };
} // namespace
ONE(anon_ns_pod, "(anonymous namespace)::NamelessPod", NamelessPod, new NamelessPod())
ONE(anon_ns_poly, "(anonymous namespace)::NamelessPoly", NamelessPoly, new NamelessPoly)

// ---- one plain object ----
ONE(new_pod_uninit, "Pod", Pod, new Pod)
ONE(new_pod_value_init, "Pod", Pod, new Pod())
ONE(new_pod_aggregate, "Pod", Pod, (new Pod{ 1, 2, 3.0, 4.0, 5.0 }))
ONE(new_ctor_out, "Plain", Plain, new Plain(3))
ONE(new_ctor_inl, "Inlined", Inlined, new Inlined(3))
ONE(new_default_member_init, "Initialised", Initialised, new Initialised)
ONE(new_empty_ctor, "Empty", Empty, new Empty)
ONE(new_nontrivial_struct, "Owner", Owner, new Owner)
ONE(new_plain_derived, "PlainDerived", PlainDerived, new PlainDerived)
ONE(new_plain_same_size, "PlainSame|=PlainBase", PlainSame, new PlainSame)
ONE(new_namespace_pod, "outer::Inside", outer::Inside, new outer::Inside)
ONE(new_template_class, "Box<int>", Box<int>, new Box<int>(4))
ONE(new_template_class_2, "Box<Pod>", Box<Pod>, new Box<Pod>(Pod()))
using Twelve = Fixed<short, 12>;
ONE(new_template_number, "Fixed<short, 12>", Twelve, new Twelve)
ONE(new_union, "Either", Either, new Either)
ONE(new_enum, "Colour", Colour, new Colour(Colour::green))
ONE(new_int, "int", int, new int(unknown(3)))
ONE(new_double, "double", double, new double(2.5))
ONE(new_bool, "bool", bool, new bool(true))
ONE(new_pointer, "Pod*", Pod *, new Pod *(nullptr))
ONE(new_const, "Pod", Pod, new const Pod())
ONE(new_std_string, "std::basic_string<char, std::char_traits<char>, std::allocator<char>>", std::string, new std::string("short"))
ONE(new_std_vector, "std::vector<int, std::allocator<int>>", std::vector<int>, new std::vector<int>)
ONE(new_nothrow, "Inlined", Inlined, new (std::nothrow) Inlined(5))
ONE(new_nothrow_poly, "Cat", Cat, new (std::nothrow) Cat)
ONE(new_aligned, "Aligned", Aligned, new Aligned)
ONE(new_aligned_value, "Aligned", Aligned, new Aligned())
ONE(class_op_new, "OwnNew", OwnNew, new OwnNew)
ONE(class_op_new_derived, "OwnNewDerived", OwnNewDerived, new OwnNewDerived)
ONE(class_op_new_inline, "OwnNewInline", OwnNewInline, new OwnNewInline)
ONE(class_op_new_malloc, "OwnNewMalloc", OwnNewMalloc, new OwnNewMalloc)
ONE(global_op_new_explicit, "OwnNew", OwnNew, ::new OwnNew)

IDIOM(new_plain_into_base)
{
	idiom_begin();
	PlainBase *p = new PlainDerived;
	idiom_end();
	one("PlainDerived", sizeof(PlainDerived));
	escape(p);
	if (keep)
		leak(p);
	else
		delete static_cast<PlainDerived *>(p);
}
IDIOM(new_plain_into_equal_base)
{
	idiom_begin();
	PlainBase *p = new PlainSame;
	idiom_end();
	one("PlainSame|=PlainBase", sizeof(PlainSame));
	escape(p);
	if (keep)
		leak(p);
	else
		delete static_cast<PlainSame *>(p);
}
IDIOM(new_const_member_function)
{
	struct Counter {
		long count, sum;
		Counter *copy() const { return new Counter(*this); }
	};
	Counter counter = { unknown(1L), 2 };
	idiom_begin();
	Counter *p = counter.copy();
	idiom_end();
	one("~(^|::)Counter$", sizeof(Counter));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(new_typedef)
{
	typedef Pod Renamed;
	using Again = Renamed;
	idiom_begin();
	Again *p = new Again;
	idiom_end();
	one("Pod", sizeof(Pod));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(new_lambda_closure)
{
	long a = unknown(1L), b = unknown(2L), c = unknown(3L);
	auto add = [a, b, c] { return a + b + c; };
	idiom_begin();
	auto *p = new auto(add);
	idiom_end();
	one("~lambda|\\$_|unnamed|anonymous class|-", sizeof add);
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}

// ---- arrays ----
#define MANY(name, type_text, size, expression) \
	IDIOM(name) \
	{ \
		size_t n = unknown((size_t)7); \
		idiom_begin(); \
		auto *p = expression; \
		idiom_end(); \
		one(type_text, size); \
		escape(p); \
		if (keep) \
			leak(p); \
		else \
			delete[] p; \
	}
MANY(new_array_pod, "Pod", n * sizeof(Pod), new Pod[n])
MANY(new_array_init, "Twin", n * sizeof(Twin), new Twin[n]{})
MANY(new_array_default_init, "Initialised", n * sizeof(Initialised), new Initialised[n])
MANY(new_array_cookie, "Owner", n * sizeof(Owner) + 8, new Owner[n])
MANY(new_array_poly_cookie, "Cat", n * sizeof(Cat) + 8, new Cat[n])
MANY(new_array_ctor_out, "Plain", n * sizeof(Plain), new Plain[n])
MANY(new_array_fixed_count, "Plain", 5 * sizeof(Plain), new Plain[5])
MANY(new_int_array, "int", n * sizeof(int), new int[n])
MANY(new_int_array_zero, "int", n * sizeof(int), new int[n]())
MANY(new_char_array, "char", n * 11, new char[n * 11])
MANY(new_byte_array, "unsigned char", n * 3, new unsigned char[n * 3])
MANY(new_ptr_array, "Pod*", n * sizeof(Pod *), new Pod *[n])
MANY(new_array_of_arrays, "int[4]|int", n * sizeof(int[4]), new int[n][4])
MANY(new_array_strings, "std::basic_string<char, std::char_traits<char>, std::allocator<char>>", n * sizeof(std::string) + 8, new std::string[n])
MANY(new_array_nothrow, "Pod", n * sizeof(Pod), new (std::nothrow) Pod[n])
MANY(new_array_aligned, "Aligned", n * sizeof(Aligned), new Aligned[n])
MANY(new_array_one, "Twin", sizeof(Twin), new Twin[n - 6])

// ---- where the pointer goes ----
struct Holder {
	Pod *pod = nullptr;
	Cat *cat = nullptr;
	long *numbers = nullptr;
	Pod **table = nullptr;
	struct { Twin *twin; } nested = { nullptr };
};
static Holder holder;
static Pod *global_pod;
static Twin *volatile global_twin;
static thread_local Initialised *per_thread;

IDIOM(member_store_pod)
{
	Holder *to = unknown(&holder);
	idiom_begin();
	to->pod = new Pod;
	idiom_end();
	one("Pod", sizeof(Pod));
	if (keep)
		leak(to->pod);
	else
		delete to->pod;
}
IDIOM(member_store_poly)
{
	Holder *to = unknown(&holder);
	idiom_begin();
	to->cat = new Cat;
	idiom_end();
	one("Cat", sizeof(Cat));
	if (keep)
		leak(to->cat);
	else
		delete to->cat;
}
IDIOM(member_store_nested)
{
	Holder *to = unknown(&holder);
	idiom_begin();
	to->nested.twin = new Twin;
	idiom_end();
	one("Twin", sizeof(Twin));
	if (keep)
		leak(to->nested.twin);
	else
		delete to->nested.twin;
}
IDIOM(member_store_array)
{
	Holder *to = unknown(&holder);
	idiom_begin();
	to->numbers = new long[unknown((size_t)20)];
	to->table = new Pod *[unknown((size_t)9)];
	idiom_end();
	one("long", 20 * sizeof(long));
	one("Pod*", 9 * sizeof(Pod *));
	if (keep) {
		leak(to->numbers);
		leak(to->table);
	} else {
		delete[] to->numbers;
		delete[] to->table;
	}
}
IDIOM(element_store)
{
	Holder *to = unknown(&holder);
	Pod *table[4];
	to->table = unknown(&table[0]);
	idiom_begin();
	to->table[unknown(2)] = new Pod;
	idiom_end();
	one("Pod", sizeof(Pod));
	if (keep)
		leak(to->table[2]);
	else
		delete to->table[2];
}
IDIOM(global_store)
{
	idiom_begin();
	global_pod = new Pod;
	global_twin = new Twin;
	idiom_end();
	one("Pod", sizeof(Pod));
	one("Twin", sizeof(Twin));
	escape(global_pod);
	if (keep) {
		leak(global_pod);
		leak(global_twin);
	} else {
		delete global_pod;
		delete global_twin;
	}
}
IDIOM(thread_local_store)
{
	idiom_begin();
	per_thread = new Initialised;
	idiom_end();
	one("Initialised", sizeof(Initialised));
	escape(per_thread);
	if (keep)
		leak(per_thread);
	else
		delete per_thread;
}
IDIOM(static_local)
{
	if (!keep)
		return; /* it is made only once */
	idiom_begin();
	static Inlined *made = new Inlined(4);
	idiom_end();
	one("Inlined", sizeof(Inlined));
	leak(made);
}
NOINLINE static void fill(Pod *pod, int x) { pod->a = x; escape(pod); }
NOINLINE static Pod *pass_on(int n, Pod *pod) { escape(n); return pod; }
IDIOM(argument_pass)
{
	idiom_begin();
	Pod *p = pass_on(unknown(1), new Pod);
	idiom_end();
	one("Pod", sizeof(Pod));
	fill(p, 3);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(return_lambda)
{
	auto make = [](int x) { return new Inlined(x); };
	idiom_begin();
	Inlined *p = make(unknown(3));
	idiom_end();
	one("Inlined", sizeof(Inlined));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(loop_linked_list)
{
	struct Link { Link *next; long payload[2]; };
	Link *first = nullptr;
	idiom_begin();
	for (int i = 0; i < 3; i++) {
		Link *link = new Link;
		link->next = first;
		link->payload[0] = i;
		first = link;
	}
	idiom_end();
	many("~(^|::)Link$", sizeof(Link));
	escape(first);
	while (first) {
		Link *next = first->next;
		if (keep)
			leak(first);
		else
			delete first;
		first = next;
	}
}

// ---- factories ----
#define FACTORY(name, type_text, type, expression) \
	IDIOM(name) \
	{ \
		idiom_begin(); \
		auto *p = expression; \
		idiom_end(); \
		one(type_text, sizeof(type)); \
		if (keep) \
			leak(p); \
		else \
			delete p; \
	}
FACTORY(factory_xtu_poly, "Dog", Dog, other_make_dog())
FACTORY(factory_xtu_poly_inl, "Cat", Cat, other_make_cat())
FACTORY(factory_switch_0, "Dog", Dog, other_switch(unknown(0)))
FACTORY(factory_switch_1, "Puppy", Puppy, other_switch(unknown(1)))
FACTORY(factory_switch_2, "SameSize", SameSize, other_switch(unknown(2)))
FACTORY(factory_switch_3, "Cat", Cat, other_switch(unknown(3)))
FACTORY(factory_xtu_pod_tailcall, "Pod", Pod, other_make_pod())
FACTORY(icf_twin_a, "Pod", Pod, other_make_pod())
FACTORY(icf_twin_b, "Twin", Twin, other_make_twin())
FACTORY(factory_xtu_pod_init, "Pod", Pod, other_make_pod_filled(unknown(3)))
FACTORY(factory_xtu_ctor_inl, "Inlined", Inlined, other_make_inlined(unknown(4)))
FACTORY(factory_xtu_unique, "Puppy", Puppy, other_make_unique().release())
FACTORY(factory_registry_0, "Dog", Dog, other_registry[unknown(0)].make())
FACTORY(factory_registry_1, "Cat", Cat, other_registry[unknown(1)].make())
FACTORY(factory_registry_2, "Puppy", Puppy, other_registry[unknown(2)].make())
IDIOM(out_parameter)
{
	Pod *p = nullptr;
	idiom_begin();
	other_make_out(&p);
	idiom_end();
	one("Pod", sizeof(Pod));
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(out_parameter_string)
{
	std::string *p = nullptr;
	idiom_begin();
	other_take_string(&p);
	idiom_end();
	one("std::basic_string<char, std::char_traits<char>, std::allocator<char>>", sizeof(std::string));
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(pimpl_member_init)
{
	alignas(Facade) static char room[2][sizeof(Facade)];
	idiom_begin();
	Facade *facade = new (room[keep]) Facade;
	idiom_end();
	one("Hidden", Facade::hidden_bytes());
	if (!keep)
		facade->~Facade();
}
IDIOM(factory_void)
{
	idiom_begin();
	Pod *p = static_cast<Pod *>(other_void_pod());
	idiom_end();
	one("Pod", sizeof(Pod));
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(wrapper_then_placement)
{
	idiom_begin();
	Inlined *p = new (other_xnew(sizeof(Inlined))) Inlined(unknown(3));
	idiom_end();
	one("Inlined", sizeof(Inlined));
	if (keep)
		leak(p);
	else
		::operator delete(p);
}
IDIOM(placement_into_malloc)
{
	idiom_begin();
	Dog *p = new (malloc(sizeof(Dog))) Dog;
	idiom_end();
	one("Dog", sizeof(Dog));
	if (keep) {
		leak(p);
	} else {
		p->~Dog();
		free(p);
	}
}
IDIOM(placement_into_operator_new)
{
	idiom_begin();
	void *room = ::operator new(sizeof(Plain));
	Plain *p = new (room) Plain(2);
	idiom_end();
	one("Plain", sizeof(Plain));
	if (keep)
		leak(p);
	else
		::operator delete(p);
}
IDIOM(base_ctor_allocates)
{
	struct Base { Base() : buffer(new char[48]) { escape(buffer); } virtual ~Base() {} char *buffer; };
	struct Derived : Base { Derived() : more{ 1, 2, 3 } {} long more[3]; };
	idiom_begin();
	Derived *p = new Derived;
	idiom_end();
	one("~(^|::)Derived$", sizeof(Derived));
	one("char", 48);
	if (keep) {
		leak(p);
		leak(p->buffer);
	} else {
		delete[] p->buffer;
		delete p;
	}
}
NOINLINE static long *argument() { return new long[12]; }
IDIOM(new_arg_allocates)
{
	struct Taker { explicit Taker(long *x) : numbers(x) {} virtual ~Taker() {} long *numbers, room[5] = { 0, 0, 0, 0, 0 }; };
	idiom_begin();
	Taker *p = new Taker(argument());
	idiom_end();
	one("~(^|::)Taker$", sizeof(Taker));
	one("long", 12 * sizeof(long));
	if (keep) {
		leak(p);
		leak(p->numbers);
	} else {
		delete[] p->numbers;
		delete p;
	}
}
