// SPDX-License-Identifier: Apache-2.0
/*
 * idioms_other: what idioms.cc and idioms_library.cc call in another file: constructors, factories, wrappers.
 *
 * Runs: a test's target.
 */
#include "idioms_types.h"

Plain::Plain() : values{} { escape(this); }
Plain::Plain(int x) : values{ x, x + 1 } { escape(this); }

Animal::Animal() : weight(10) { escape(this); }
Animal::~Animal() { escape(this); }
int Animal::legs() const { return 0; }
Dog::Dog() : bark{ 1, 2 } { escape(this); }
Dog::~Dog() { escape(this); }
int Dog::legs() const { return 4; }

NOINLINE void *OwnNew::operator new(size_t size)
{
	void *block = ::operator new(size);
	escape(block);
	return block;
}
void OwnNew::operator delete(void *block) { ::operator delete(block); }

NOINLINE Animal *other_make_dog() { return new Dog; }
NOINLINE Animal *other_make_cat() { return new Cat; }
NOINLINE Animal *other_switch(int kind)
{
	switch (kind) {
	case 0: return new Dog;
	case 1: return new Puppy;
	case 2: return new SameSize;
	default: return new Cat;
	}
}
/* two functions of one body: a linker may fold them, a compiler turns the calls into tail jumps */
NOINLINE Pod *other_make_pod() { return new Pod; }
NOINLINE Twin *other_make_twin() { return new Twin; }
NOINLINE Pod *other_make_pod_filled(int x) { return new Pod{ x, x, 1.5, 2.5, 3.5 }; }
NOINLINE Inlined *other_make_inlined(int x) { return new Inlined(x); }
NOINLINE std::unique_ptr<Animal> other_make_unique() { return std::make_unique<Puppy>(); }
NOINLINE bool other_make_out(Pod **out)
{
	*out = new Pod;
	return true;
}
NOINLINE void *other_void_pod() { return new Pod(); }
NOINLINE void *other_xnew(size_t size)
{
	void *block = ::operator new(size, std::nothrow);
	if (!block)
		__builtin_abort();
	return block;
}
NOINLINE void other_take_string(std::string **slot) { *slot = new std::string("short"); }

template <class T> static Animal *make_any() { return new T; }
const Registry other_registry[3] = { { make_any<Dog>, "dog" }, { make_any<Cat>, "cat" }, { make_any<Puppy>, "puppy" } };

class Hidden {
public:
	Hidden() : numbers{ 1, 2, 3 } {}
	virtual ~Hidden() {}
	long numbers[9];
};
Facade::Facade() : hidden(new Hidden) {}
Facade::~Facade() = default;
size_t Facade::hidden_bytes() { return sizeof(Hidden); }
