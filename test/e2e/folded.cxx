// SPDX-License-Identifier: Apache-2.0
/*
 * folded.cxx: functions with equal code that make blocks of different types, for linkers that fold
 * them (--icf=all). Built of two objects: the second one with -DSECOND.
 *
 * Runs: a test's target. Allocates: blocks that stay, and says of each
 *
 *   block ADDRESS HOW TYPES
 *
 * TYPES begins with the block's own; behind it are those of the other functions that were folded
 * with its own. HOW: "any": nothing tells which of them it is; "called": the caller's debug
 * information does, if it has calls; "perhaps": it may; "vptr": the block's vptr does; "only":
 * there is no other.
 */
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

#define NOINLINE __attribute__((noinline))

extern void *volatile kept;
extern NOINLINE void *made_by_second(void *(**function)());

#ifdef SECOND

struct L2 {
	int a, b;
	double c[3];
	L2() : a(1), b(2) { c[0] = 3; }
};
static NOINLINE void *local() { return kept = new L2; }
void *made_by_second(void *(**function)())
{
	void *made = local();
	*function = local;
	return made;
}

#else

void *volatile kept;

static void said(const void *block, const char *how, const char *types)
{
	printf("block %p %s %s\n", block, how, types);
}

/* constructors that are inlined */
#define PLAIN(NAME)                                    \
	struct NAME {                                  \
		int a, b;                              \
		double c;                              \
		NAME() : a(1), b(2), c(3) {}           \
	};                                             \
	NOINLINE void *make_##NAME() { return kept = new NAME; }
PLAIN(Apple)
PLAIN(Berry)
PLAIN(Cherry)

/* constructors that are called, from functions with different code */
#define OUTLINE(NAME, NUMBER)                          \
	struct NAME {                                  \
		long a, b, c;                          \
		NOINLINE NAME();                       \
	};                                             \
	NAME::NAME() : a(4), b(5), c(6) {}             \
	NOINLINE void *make_##NAME()                   \
	{                                              \
		NAME *made = new NAME;                 \
		made->c = NUMBER;                      \
		return kept = made;                    \
	}
OUTLINE(Xenon, 1)
OUTLINE(Yttrium, 2)

/* a template */
template <class T> NOINLINE T *make() { T *made = new T(); kept = made; return made; }
struct Plum { float a[5]; };
struct Quince { int a[5]; };

/* C: only the variable knows the type */
struct metre { long a, b, c, d, e, f; };
struct newton { unsigned long a[6]; };
extern "C" {
NOINLINE void *make_metre()
{
	metre *made = (metre *)malloc(sizeof(*made));
	kept = made;
	made->a = 1;
	return made;
}
NOINLINE void *make_newton()
{
	newton *made = (newton *)malloc(sizeof(*made));
	kept = made;
	made->a[0] = 1;
	return made;
}
}

/* a container's storage */
template <class T> NOINLINE void *fill(std::vector<T> *into)
{
	into->reserve(7);
	return into->data();
}

/* objects with a vptr */
#define POLYMORPHIC(NAME)                                     \
	struct NAME {                                         \
		long a[8];                                    \
		NOINLINE NAME() { a[0] = 1; }                 \
		virtual ~NAME() {}                            \
		virtual int number() { return 1; }            \
	};
POLYMORPHIC(Violet)
POLYMORPHIC(Willow)
template <class T> NOINLINE void *room() { return ::operator new(sizeof(T)); }

/* both make the same type */
struct Same { char a[72]; Same() { a[0] = 1; } };
NOINLINE void *make_same_1() { return kept = new Same; }
NOINLINE void *make_same_2() { return kept = new Same; }

/* another name of one function, and a constructor's other name */
struct Alone { char a[88]; NOINLINE Alone(); };
Alone::Alone() { a[0] = 1; }
extern "C" {
NOINLINE void *make_alone() { return kept = new Alone; }
void *make_alias() __attribute__((alias("make_alone")));
}

/* a function of a name that the other object has, too */
struct L1 {
	int a, b;
	double c[3];
	L1() : a(1), b(2) { c[0] = 3; }
};
static NOINLINE void *local() { return kept = new L1; }

static NOINLINE void *call(void *(*volatile function)()) { return function(); }

int main()
{
	void *(*second)();

	for (int i = 0; i < 3; i++) {
		said(call(make_Apple), "any", "Apple Berry Cherry");
		said(call(make_Berry), "any", "Berry Apple Cherry");
		said(call(make_Cherry), "any", "Cherry Apple Berry");
		said(make_Apple(), "called", "Apple Berry Cherry");
		said(make_Berry(), "called", "Berry Apple Cherry");
		said(make_Xenon(), "perhaps", "Xenon Yttrium");
		said(make_Yttrium(), "perhaps", "Yttrium Xenon");
		said(call((void *(*)())make<Plum>), "any", "Plum Quince");
		said(call((void *(*)())make<Quince>), "any", "Quince Plum");
		said(call(make_metre), "any", "metre newton");
		said(call(make_newton), "any", "newton metre");
		said(fill(new std::vector<Plum *>), "called", "Plum* Quince*");
		said(fill(new std::vector<Quince *>), "called", "Quince* Plum*");
		said(new (room<Violet>()) Violet, "vptr", "Violet Willow");
		said(new (room<Willow>()) Willow, "vptr", "Willow Violet");
		said(call(make_same_1), "only", "Same");
		said(call(make_same_2), "only", "Same");
		said(call(make_alone), "only", "Alone");
		said(call(make_alias), "only", "Alone");
		said(call(local), "any", "L1 L2");
		said(made_by_second(&second), "perhaps", "L2 L1");
		said(call(second), "any", "L2 L1");
	}
}

#endif
