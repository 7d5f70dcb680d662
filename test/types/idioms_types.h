/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idioms_types.h: the classes that the C++ idioms make. Several pairs are of one size on purpose: a size tells nothing there.
 */
#ifndef SHINY_TEST_IDIOMS_TYPES_H
#define SHINY_TEST_IDIOMS_TYPES_H

#include <memory>
#include <new>
#include <string>
#include <vector>

#include "idioms.h"

struct Pod { int a, b; double c, d, e; }; /* 32 */
struct Twin { long a, b, c, d; };         /* 32 */
struct Initialised { int a = 1; long b = 2; long c = 3; char d[24] = ""; };
struct Empty { Empty() {} long room[5]; };

struct Plain { /* constructors, no vptr */
	Plain();
	explicit Plain(int x);
	long values[6];
};
struct Inlined {
	explicit Inlined(int x) : value(x), twice(2 * x) {}
	int value, twice;
	long more[4] = { 1, 2, 3, 4 };
};
struct Owner { /* something to destroy: new Owner[n] has a cookie */
	Owner() : name("owner"), count(0) {}
	~Owner() { escape(this); }
	std::string name;
	long count;
};

class Animal {
public:
	Animal();
	virtual ~Animal();
	virtual int legs() const;
	long weight;
};
class Dog : public Animal { /* constructor out of line */
public:
	Dog();
	~Dog() override;
	int legs() const override;
	long bark[2];
};
class Cat : public Animal { /* inline, and of Dog's size */
public:
	Cat() : mice{ 1, 2 } {}
	int legs() const override { return 4; }
	long mice[2];
};
class Puppy : public Dog {
public:
	Puppy() : age(1) {}
	int legs() const override { return 3; }
	int age;
};
class SameSize : public Animal { /* adds nothing: as large as its base */
public:
	SameSize() {}
	int legs() const override { return 2; }
};
class NoDestructor {
public:
	virtual int f() { return value; }
	int value = 7;
};
class Left { public: virtual ~Left() {} virtual int l() { return 1; } long x = 1; };
class Right { public: virtual ~Right() {} virtual int r() { return 2; } long y = 2; };
class Multiple : public Left, public Right { public: int r() override { return 3; } long z = 3; };
class Top { public: virtual ~Top() {} long top = 1; };
class DiamondLeft : public virtual Top { public: long left = 2; };
class DiamondRight : public virtual Top { public: long right = 3; };
class Diamond : public DiamondLeft, public DiamondRight { public: Diamond() {} long bottom = 4; };
struct PlainBase { long a = 1, b = 2; };
struct PlainDerived : PlainBase { long c = 3; };
struct PlainSame : PlainBase { void touch() { a++; } };
class Mixed : public PlainBase { public: virtual ~Mixed() {} long own = 5; };

struct WrapFirst { Dog first; long more[3] = { 1, 2, 3 }; }; /* begins with a polymorphic member */
struct WrapExact { Dog only; };                              /* … and is as large as it */
struct WrapSecond { long before = 1; Dog second; };

template <class T> struct Box {
	explicit Box(T v) : value(v) {}
	T value;
	long padding[3] = { 0, 0, 0 };
};
template <class T, int N> struct Fixed { T values[N]; };
template <class T> class PolyBox : public Animal {
public:
	explicit PolyBox(T v) : value(v) {}
	int legs() const override { return sizeof(T); }
	T value;
};

namespace outer {
struct Inside { int x[9]; };
namespace inner {
class Deep { public: Deep() : value(1) {} virtual ~Deep() {} long value, more[3]; };
} // namespace inner
} // namespace outer

struct alignas(64) Aligned { long values[8]; };
union Either { long number; double real; char text[40]; };
enum class Colour : short { red, green };

/* A class's own operator new, out of line and inline. */
struct OwnNew {
	static void *operator new(size_t size);
	static void operator delete(void *block);
	long a = 1, b = 2, c = 3;
};
struct OwnNewDerived : OwnNew { OwnNewDerived() : d(4) {} long d; };
struct OwnNewInline {
	static void *operator new(size_t size) { return ::operator new(size); }
	static void operator delete(void *block) { ::operator delete(block); }
	long values[7];
};
struct OwnNewMalloc {
	static void *operator new(size_t size) { return __builtin_malloc(size); }
	static void operator delete(void *block) { __builtin_free(block); }
	OwnNewMalloc() : number(3) {}
	long number, more[5];
};

/* What owns a block stays, where nobody destroys it; or goes with its scope. */
template <class T> static void keep_or_drop(bool keep, T &value)
{
	static char room[4096];
	static size_t used;
	if (!keep)
		return;
	used = (used + alignof(T) - 1) / alignof(T) * alignof(T);
	if (used + sizeof(T) > sizeof room)
		__builtin_abort();
	new (room + used) T(std::move(value));
	used += sizeof(T);
}

/* idioms_other.cc: factories in another file */
Animal *other_make_dog();
Animal *other_make_cat();
Animal *other_switch(int kind);
Pod *other_make_pod();
Twin *other_make_twin();
Pod *other_make_pod_filled(int x);
Inlined *other_make_inlined(int x);
std::unique_ptr<Animal> other_make_unique();
bool other_make_out(Pod **out);
void *other_void_pod();
void *other_xnew(size_t size);
void other_take_string(std::string **slot);
struct Registry {
	Animal *(*make)();
	const char *name;
};
extern const Registry other_registry[3];
class Hidden; /* pimpl */
class Facade {
public:
	Facade();
	~Facade();
	static size_t hidden_bytes();

private:
	std::unique_ptr<Hidden> hidden;
};

#endif
