// SPDX-License-Identifier: Apache-2.0
/*
 * idioms_traps: C++ allocations whose surroundings name another type of the same size, or none; exceptions, rings, coroutines.
 *
 * Runs: a test's target. See idioms.h for how the truth is told.
 */
#include "idioms_types.h"

#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>

#if __has_include(<coroutine>) && defined(__cpp_impl_coroutine)
#include <coroutine>
#endif

// ---- one place, two types ----
IDIOM(crossjump_void)
{
	/* gcc merges the two calls into one */
	idiom_begin();
	void *p = unknown(keep) ? static_cast<void *>(new Pod) : static_cast<void *>(new Twin);
	idiom_end();
	one(keep ? "Pod|-" : "Twin|-", sizeof(Pod));
	escape(p);
	if (keep)
		leak(p);
	else
		::operator delete(p);
}
IDIOM(crossjump_ctor)
{
	idiom_begin();
	void *p = unknown(keep) ? static_cast<void *>(new Dog) : static_cast<void *>(new Cat);
	idiom_end();
	one(keep ? "Dog|-" : "Cat|-", sizeof(Dog));
	escape(p);
	if (keep)
		leak(p);
	else
		delete static_cast<Cat *>(p);
}
IDIOM(ternary_into_base)
{
	idiom_begin();
	Animal *p = unknown(keep) ? static_cast<Animal *>(new Dog) : new Cat;
	idiom_end();
	one(keep ? "Dog" : "Cat|-", sizeof(Dog));
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(branch_two_variables)
{
	void *room = ::operator new(unknown(sizeof(Pod)));
	(void)room;
	idiom_begin();
	void *block = ::operator new(sizeof(Pod));
	if (unknown(keep)) {
		Pod *pod = static_cast<Pod *>(block);
		pod->a = 1;
		escape(pod);
	} else {
		Twin *twin = static_cast<Twin *>(block);
		twin->a = 2;
		escape(twin);
	}
	idiom_end();
	one(keep ? "Pod|-" : "Twin|-", sizeof(Pod));
	if (keep) {
		leak(block);
		leak(room);
	} else {
		::operator delete(block);
		::operator delete(room);
	}
}
template <class T> NOINLINE static void *make_erased() { return new T; }
IDIOM(template_erased_pod)
{
	idiom_begin();
	void *pod = make_erased<Pod>();
	void *twin = make_erased<Twin>();
	idiom_end();
	one("Pod|-", sizeof(Pod)); /* bodies that a linker may fold, and nothing of the type is left in them */
	one("Twin|-", sizeof(Twin));
	if (keep) {
		leak(pod);
		leak(twin);
	} else {
		::operator delete(pod);
		::operator delete(twin);
	}
}

// ---- a typed neighbour that is not the block's type ----
struct Slice { /* takes a pointer; is as large as what it points to here */
	Slice(const char *text, size_t count) : at(text), bytes(count) {}
	const char *at;
	size_t bytes;
};
NOINLINE static void look(const Slice &slice) { escape(&slice); }
IDIOM(trap_view_of_chars)
{
	idiom_begin();
	char *buffer = new char[16];
	Slice slice(buffer, 16);
	look(slice);
	idiom_end();
	one("char", 16);
	if (keep)
		leak(buffer);
	else
		delete[] buffer;
}
struct Writer { explicit Writer(void *to) : out(to) {} void *out; long state[3] = { 0, 0, 0 }; };
IDIOM(trap_equal_size_on_stack)
{
	idiom_begin();
	auto *pod = new Pod();
	Writer writer(pod);
	escape(&writer);
	idiom_end();
	one("Pod", sizeof(Pod));
	if (keep)
		leak(pod);
	else
		delete pod;
}
IDIOM(trap_first_member_pod)
{
	struct Shell { Pod only; };
	idiom_begin();
	Shell *p = new Shell;
	Pod *inside = &p->only;
	inside->a = 3;
	escape(inside);
	idiom_end();
	one("=Pod|~(^|::)Shell$", sizeof(Shell));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(trap_member_ctor)
{
	struct Pair { Inlined first; Inlined second; Pair() : first(1), second(2) {} };
	struct Alone { Inlined only; Alone() : only(1) {} };
	idiom_begin();
	Pair *pair = new Pair;
	Alone *alone = new Alone;
	idiom_end();
	one("~(^|::)Pair$", sizeof(Pair));
	one("=Inlined|~(^|::)Alone$", sizeof(Alone));
	escape(pair);
	escape(alone);
	if (keep) {
		leak(pair);
		leak(alone);
	} else {
		delete pair;
		delete alone;
	}
}
IDIOM(trap_member_ctor_out)
{
	struct Alone { Plain only; };
	idiom_begin();
	Alone *p = new Alone;
	idiom_end();
	one("=Plain|~(^|::)Alone$", sizeof(Alone));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(trap_array_member_ctor)
{
	struct Three { Plain items[3]; };
	idiom_begin();
	Three *p = new Three;
	idiom_end();
	one("~(^|::)Three$", sizeof(Three));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(trap_ctor_of_other)
{
	/* the pointer is the first thing that another object's constructor, in the same scope, gets */
	struct Other { explicit Other(Twin *twin) : at(twin), room{} { escape(this); } Twin *at; long room[3]; };
	idiom_begin();
	Other other(new Twin());
	idiom_end();
	one("Twin", sizeof(Twin));
	escape(&other);
	if (keep)
		leak(other.at);
	else
		delete other.at;
}
IDIOM(trap_union_member)
{
	union { Pod *pod; Twin *twin; void *any; } either;
	idiom_begin();
	either.twin = new Twin;
	idiom_end();
	one("Twin|-", sizeof(Twin));
	escape(either.any);
	if (keep)
		leak(either.any);
	else
		delete either.twin;
}
IDIOM(trap_reinterpret)
{
	idiom_begin();
	auto *bytes = reinterpret_cast<unsigned char *>(new Twin);
	auto *words = reinterpret_cast<uint32_t *>(new char[64]);
	idiom_end();
	one("Twin|-", sizeof(Twin));
	one("char|unsigned int|-", 64);
	escape(bytes);
	escape(words);
	if (keep) {
		leak(bytes);
		leak(words);
	} else {
		delete reinterpret_cast<Twin *>(bytes);
		delete[] reinterpret_cast<char *>(words);
	}
}
IDIOM(trap_chars_as_object)
{
	idiom_begin();
	char *raw = new char[sizeof(Plain)];
	Plain *p = new (raw) Plain(4);
	idiom_end();
	one("char|Plain", sizeof(Plain));
	escape(p);
	if (keep)
		leak(p);
	else
		delete[] raw;
}
IDIOM(trap_chars_as_poly)
{
	idiom_begin();
	char *raw = new char[sizeof(Cat)];
	Cat *p = new (raw) Cat;
	idiom_end();
	one("char|Cat", sizeof(Cat));
	if (keep) {
		leak(p);
	} else {
		p->~Cat();
		delete[] raw;
	}
}
IDIOM(trap_stale_vptr)
{
	Cat *cat = new Cat;
	leak(cat);
	delete cat;
	idiom_begin();
	char *again = static_cast<char *>(malloc(sizeof(Cat))); /* most likely the same block */
	idiom_end();
	one("char|-", sizeof(Cat));
	escape(again);
	if (keep)
		leak(again);
	else
		free(again);
}
IDIOM(trap_copied_vptr)
{
	/* bytes that begin with a vptr are not an object; nobody can tell from the vptr */
	Cat cat;
	idiom_begin();
	char *bytes = new char[sizeof(Cat) + 8];
	idiom_end();
	memcpy(bytes, static_cast<void *>(&cat), sizeof cat);
	one("char", sizeof(Cat) + 8);
	escape(bytes);
	if (keep)
		leak(bytes);
	else
		delete[] bytes;
}
IDIOM(trap_reuse_by_type)
{
	/* a pool that gives one block to two types in turn; the block itself is storage */
	idiom_begin();
	void *room = ::operator new(sizeof(Dog));
	idiom_end();
	one("Dog|Cat|-", sizeof(Dog));
	Dog *dog = new (room) Dog;
	dog->~Dog();
	Cat *cat = new (room) Cat;
	escape(cat);
	if (keep)
		leak(cat);
	else
		::operator delete(room);
}
NOINLINE static void start(PlainBase *base) { base->a = 4; escape(base); }
IDIOM(trap_callee_takes_base)
{
	idiom_begin();
	PlainSame *p = new PlainSame;
	start(p);
	idiom_end();
	one("PlainSame|=PlainBase", sizeof(PlainSame));
	escape(p);
	if (keep)
		leak(p);
	else
		delete p;
}
IDIOM(trap_callee_takes_only_base)
{
	idiom_begin();
	PlainBase *p = unknown(static_cast<PlainBase *>(new PlainSame));
	idiom_end();
	one("PlainSame|=PlainBase", sizeof(PlainSame));
	if (keep)
		leak(p);
	else
		delete static_cast<PlainSame *>(p);
}

// ---- nothing to find ----
IDIOM(raw_operator_new)
{
	idiom_begin();
	void *p = ::operator new(unknown((size_t)123));
	idiom_end();
	one("-", 123);
	escape(p);
	if (keep)
		leak(p);
	else
		::operator delete(p);
}
IDIOM(raw_operator_new_array)
{
	idiom_begin();
	void *p = ::operator new[](unknown((size_t)77), std::nothrow);
	idiom_end();
	one("-", 77);
	escape(p);
	if (keep)
		leak(p);
	else
		::operator delete[](p);
}
IDIOM(raw_aligned)
{
	idiom_begin();
	void *p = ::operator new(unknown((size_t)192), std::align_val_t(64));
	idiom_end();
	one("-", 192);
	escape(p);
	if (keep)
		leak(p);
	else
		::operator delete(p, std::align_val_t(64));
}
class Ring {
public:
	Ring() : at(nullptr), end(nullptr), last(nullptr) {}
	~Ring()
	{
		while (last) {
			Chunk *before = last->before;
			::operator delete(last);
			last = before;
		}
	}
	void *take(size_t size)
	{
		if (size_t(end - at) < size)
			grow(512);
		char *result = at;
		at += size;
		return result;
	}
	template <class T, class... A> T *make(A... a) { return new (take(sizeof(T))) T(a...); }
	struct Chunk { Chunk *before; char data[]; };
	void forget() { leak(last); last = nullptr; }

private:
	NOINLINE void grow(size_t size)
	{
		Chunk *chunk = static_cast<Chunk *>(::operator new(sizeof(Chunk) + size));
		chunk->before = last;
		last = chunk;
		at = chunk->data;
		end = at + size;
	}
	char *at, *end;
	Chunk *last;
};
IDIOM(ring_chunk)
{
	Ring ring;
	idiom_begin();
	for (int i = 0; i < 20; i++)
		escape(ring.make<Inlined>(i));
	idiom_end();
	many("Ring::Chunk|-", sizeof(Ring::Chunk) + 512);
	if (keep)
		ring.forget();
}
IDIOM(ring_begins_with_object)
{
	/* its first object sits at the start of the block and is polymorphic */
	idiom_begin();
	char *room = new char[2000];
	Dog *dog = new (room) Dog;
	idiom_end();
	one("char", 2000);
	escape(dog);
	if (keep) {
		leak(room);
	} else {
		dog->~Dog();
		delete[] room;
	}
}

// ---- exceptions ----
#ifdef _LIBCPP_VERSION
#define THROWN(type_text, type) many(type_text, 0) /* any header */
#else
#define THROWN(type_text, type) one(type_text, sizeof(type) + 128)
#endif
struct Problem { Problem() : code(3) {} long code, more[5] = { 1, 2, 3, 4, 5 }; };
NOINLINE static void fail(int how)
{
	if (how == 1)
		throw Problem();
	throw 17;
}
IDIOM(throw_object)
{
	/* a header of 128 bytes, then the object. A kept one is the one that is still being handled at the end. */
	static std::exception_ptr held;
	idiom_begin();
	try {
		fail(unknown(1));
	} catch (const Problem &problem) {
		escape(&problem);
		if (keep)
			held = std::current_exception();
	}
	idiom_end();
	THROWN("Problem", Problem);
	perhaps("-", 0); /* the unwinder's own */
}
IDIOM(throw_again)
{
	idiom_begin();
	try {
		try {
			fail(unknown(1));
		} catch (...) {
			throw;
		}
	} catch (const Problem &problem) {
		escape(&problem);
	}
	idiom_end();
	THROWN("Problem", Problem);
	perhaps("-", 0);
}
IDIOM(throw_made)
{
	static std::exception_ptr held;
	idiom_begin();
	std::exception_ptr made = std::make_exception_ptr(Problem());
	if (keep)
		held = made;
	made = nullptr;
	idiom_end();
	THROWN("Problem", Problem);
	perhaps("-", 0);
}
IDIOM(throw_pointer)
{
	idiom_begin();
	try {
		throw "a text";
	} catch (const char *text) {
		escape(text);
	}
	idiom_end();
	THROWN("const char*", const char *);
}
IDIOM(throw_int)
{
	idiom_begin();
	try {
		fail(unknown(2));
	} catch (int code) {
		escape(code);
	}
	idiom_end();
	THROWN("int", int);
}
#ifndef _LIBCPP_VERSION
IDIOM(throw_std)
{
	idiom_begin();
	try {
		throw std::runtime_error("a message that is long enough for the heap");
	} catch (const std::exception &error) {
		escape(&error);
	}
	idiom_end();
	THROWN("std::runtime_error", std::runtime_error);
	many("char|~^std::|-", 0); /* the text, behind a header of the library's */
}
#endif
struct Thrower { Thrower() { if (unknown(true)) throw 3; } long x[8]; };
IDIOM(throw_in_ctor)
{
	idiom_begin();
	try {
		escape(new Thrower);
	} catch (int) {
	}
	idiom_end();
	one("Thrower", sizeof(Thrower));
	THROWN("int", int);
}

// ---- coroutines ----
#ifdef __cpp_lib_coroutine
struct Generator {
	struct promise_type {
		int value = 0;
		Generator get_return_object() { return { std::coroutine_handle<promise_type>::from_promise(*this) }; }
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(int x) { value = x; return {}; }
		void return_void() {}
		void unhandled_exception() {}
	};
	std::coroutine_handle<promise_type> handle;
};
NOINLINE static Generator count_to(int n)
{
	for (int i = 0; i < n; i++)
		co_yield i;
}
IDIOM(coroutine_frame)
{
	idiom_begin();
	Generator g = count_to(unknown(3));
	idiom_end();
	many("~[Ff]rame|coro|-", 0); /* only the compiler knows its size */
	g.handle.resume();
	if (keep)
		leak(g.handle.address());
	else
		g.handle.destroy();
}
#endif
