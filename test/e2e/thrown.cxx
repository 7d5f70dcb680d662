// SPDX-License-Identifier: Apache-2.0
// thrown.cxx: objects that are thrown, in the ways that C++ has. Each type has a size of its own,
// and the program prints "thrown SIZE BLOCKS TYPE" for it: SIZE is sizeof, BLOCKS how many were
// made.
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>

template <int Size> struct Sized {
	char bytes[Size] = {};
};
struct Plain : Sized<1000> {
};
struct Derived : std::runtime_error, Sized<1024> {
	Derived() : std::runtime_error("a text that is too long for a small buffer") {}
};
namespace deep
{
struct Virtual : Sized<1048> {
	explicit Virtual(int n) { bytes[0] = (char)n; }
	Virtual(const Virtual &) = default;
	virtual ~Virtual() = default;
};
template <class T> struct Box {
	T value;
};
}
namespace
{
struct Hidden : Sized<1096> {
};
}
struct Inner : Sized<1120> {
};
struct Outer : Sized<1144> {
};
struct Held : Sized<1168> {
};
struct Made : Sized<1192> {
};
struct Again : Sized<1216> {
};
struct Chosen : Sized<1240> {
};
struct Other : Sized<1264> {
};
struct Breaks : Sized<1288> {
	Breaks(bool really)
	{
		if (really)
			throw Chosen();
	}
};

#define NOINLINE __attribute__((noinline))

#ifdef IN_LIBRARY
struct FromLibrary : Sized<1312> {
};
NOINLINE void library_throws()
{
	throw FromLibrary();
}
NOINLINE size_t library_size()
{
	return sizeof(FromLibrary);
}
#else
void library_throws();
size_t library_size();

static volatile int zero;

NOINLINE static void fail(int how)
{
	switch (how) {
	case 0: throw Plain();
	case 1: throw Derived();
	case 2: throw deep::Virtual(how);
	case 3: throw deep::Box<Sized<1072>>();
	case 4: throw Hidden();
	case 5: library_throws(); break;
	}
}

NOINLINE static void choose(bool other)
{
	if (other)
		throw Other();
	Breaks breaks(!other);
	std::printf("%d", breaks.bytes[0]); // does not come here
}

NOINLINE static void nested()
{
	try {
		throw Inner();
	} catch (const Inner &) {
		try {
			throw Outer();
		} catch (const Outer &) {
		}
		throw;
	}
}

template <class T> static void say(int blocks, const char *type)
{
	std::printf("thrown %zu %d %s\n", sizeof(T), blocks, type);
}

int main()
{
	std::exception_ptr held, made;

	for (int i = 0; i < 6; i++)
		for (int k = 0; k < 3; k++)
			try {
				fail(i + zero);
			} catch (...) {
			}
	for (int i = 0; i < 2; i++)
		try {
			choose(i != zero);
		} catch (const Chosen &) {
		} catch (const Other &) {
		}
	try {
		nested();
	} catch (const Inner &) {
	}
	try {
		throw Held();
	} catch (...) {
		held = std::current_exception();
	}
	try {
		std::rethrow_exception(held);
	} catch (const Held &) {
	}
	made = std::make_exception_ptr(Made());
	try {
		try {
			throw Again();
		} catch (...) {
			throw;
		}
	} catch (const Again &) {
	}
	say<Plain>(3, "Plain");
	say<Derived>(3, "Derived");
	say<deep::Virtual>(3, "deep::Virtual");
	say<deep::Box<Sized<1072>>>(3, "deep::Box<Sized<1072>>");
	say<Hidden>(3, "(anonymous namespace)::Hidden");
	std::printf("thrown %zu 3 FromLibrary\n", library_size());
	say<Chosen>(1, "Chosen");
	say<Other>(1, "Other");
	say<Inner>(1, "Inner");
	say<Outer>(1, "Outer");
	say<Held>(1, "Held");
	say<Made>(1, "Made");
	say<Again>(1, "Again");
}
#endif
