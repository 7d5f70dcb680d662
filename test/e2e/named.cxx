// SPDX-License-Identifier: Apache-2.0
// Functions that hand their name on beside the path of their file, in two ways, or without one, and
// functions that hand on something else. Prints for each block its size and the name that its
// function handed on, or "-".
#include <cstdio>
#include <cstdlib>

#ifdef __clang__
#define OUT_OF_LINE __attribute__((noinline))
#else
#define OUT_OF_LINE __attribute__((noipa))
#endif

void *volatile last;
volatile int argument = 1, open = 1, ready = 1;

// as std::source_location and base::Location
OUT_OF_LINE void note(const char *function = __builtin_FUNCTION(),
		      const char *file = __builtin_FILE(), int line = __builtin_LINE())
{
	if (argument > 7)
		printf("%s %s:%d\n", function, file, line);
}

// as assert
OUT_OF_LINE void failed(const char *expression, const char *file, unsigned line,
			const char *function)
{
	printf("%s %s:%u %s\n", expression, file, line, function);
}

// as many other checks: what stands in front of the path is an expression
OUT_OF_LINE void refused(const char *expression, const char *file, int line)
{
	printf("%s %s:%d\n", expression, file, line);
}

#define ASSERT(good) ((good) ? (void)0 : failed(#good, __FILE__, __LINE__, __PRETTY_FUNCTION__))
#define CHECK(good) ((good) ? (void)0 : refused(#good, __FILE__, __LINE__))

#define MAKE(bytes, name) (last = malloc(bytes), printf("%d %s\n", bytes, name))

OUT_OF_LINE static void noted()
{
	note();
	MAKE(10001, "noted");
}

struct Writer {
	OUT_OF_LINE void write()
	{
		note();
		MAKE(10002, "write");
	}
	OUT_OF_LINE ~Writer()
	{
		note();
		MAKE(10003, "~Writer");
	}
};

namespace space {
OUT_OF_LINE static int asserted(int count)
{
	ASSERT(count < 7);
	MAKE(10004, "space::asserted");
	return count + 1;
}
template <class T> OUT_OF_LINE static T *asserted_too(T *from)
{
	ASSERT(ready);
	MAKE(10005, "space::asserted_too");
	return from + argument;
}
} // namespace space

OUT_OF_LINE static void asserted_here()
{
	ASSERT(open && ready);
	MAKE(10006, "asserted_here");
}

OUT_OF_LINE static void checked()
{
	CHECK(ready);
	MAKE(10007, "-");
}

OUT_OF_LINE static void checked_more()
{
	CHECK(open);
	CHECK(argument < 8);
	CHECK(argument + open > 1);
	MAKE(10008, "-");
}

__attribute__((always_inline)) static inline void inlined()
{
	note();
}

// A line that stands in several functions: that of inlined() is in none of them.
OUT_OF_LINE static void repeated()
{
	inlined();
	MAKE(10010, "-");
}

#ifdef INLINED
OUT_OF_LINE static void repeated_more()
{
	inlined();
	MAKE(10011, "-");
}
OUT_OF_LINE static void repeated_again()
{
	inlined();
	MAKE(10012, "-");
}
#endif

#ifdef ACROSS
__attribute__((always_inline)) static inline void elsewhere()
{
	note("elsewhere", "./code/elsewhere.cc", 7);
}
template <int N> OUT_OF_LINE static void across()
{
	note();
	elsewhere();
	MAKE(10020 + N, "-");
}
#endif

// Two names: either may be that of the code.
OUT_OF_LINE static void several()
{
	note();
	inlined();
	MAKE(10009, "-");
}

// ---- names without a path; = keeps the truth from being one ----

OUT_OF_LINE void trace(const char *text)
{
	if (argument > 7)
		printf("%s\n", text);
}

__attribute__((always_inline)) static inline void traced_inside()
{
	trace(__PRETTY_FUNCTION__);
}

namespace space {
struct Reader {
	OUT_OF_LINE int *read(int *from)
	{
		trace(__PRETTY_FUNCTION__);
		traced_inside();
		MAKE(10030, "=space::Reader::read");
		return from + argument;
	}
};
} // namespace space

OUT_OF_LINE static void labelled()
{
	trace("Reader::Label");
	MAKE(10031, "=Reader::Label?");
}

OUT_OF_LINE static void shared_label()
{
	trace("Reader::Label");
	trace("Reader::Other");
	MAKE(10032, "=Reader::Other?");
}

OUT_OF_LINE static void no_label()
{
	trace("Reader::kNone");
	trace("Reader::mMember");
	trace("Delete the item(s)");
	trace("from.size() == other.size()");
	trace("reads(a) failed");
	MAKE(10033, "-");
}

// A name that is in two functions is that of neither.
OUT_OF_LINE static void traced()
{
	traced_inside();
	MAKE(10034, "-");
}

int main()
{
	int from[4] = { 0 };

	noted();
	{
		Writer writer;

		writer.write();
	}
	argument = space::asserted(argument);
	argument = *space::asserted_too(from) + 1;
	asserted_here();
	checked();
	checked_more();
	several();
	repeated();
	argument = *space::Reader().read(from) + 1;
	labelled();
	shared_label();
	no_label();
	traced();
#ifdef ACROSS
	across<0>();
	across<1>();
#endif
#ifdef INLINED
	repeated_more();
	repeated_again();
#endif
}
