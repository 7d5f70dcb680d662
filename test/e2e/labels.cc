// SPDX-License-Identifier: Apache-2.0
// Storage of strings, vectors and maps, callbacks, and blocks that only look like it. Prints for
// each expected label: the label, how many blocks it has, their bytes. The allocators count them.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#define OUT_OF_LINE __attribute__((noinline))

struct count {
	long blocks, bytes;
};
static count counts[16];
enum { STRING, ARRAY_8, ARRAY_12, ARRAY_24, ARRAY_368, BYTES, NODES, CALLBACKS, KINDS };
static const char *const labels[KINDS] = { "string",
					   "array of 8-byte elements",
					   "array of 12-byte elements",
					   "array of 24-byte elements",
					   "array of 368-byte elements",
					   "storage",
					   "map node",
					   "callback" };

// Passes to std::allocator, and counts for one label.
template <class T, int KIND> struct counted {
	using value_type = T;
	template <class U> struct rebind {
		using other = counted<U, KIND>;
	};
	counted() = default;
	template <class U> counted(const counted<U, KIND> &) {}
	T *allocate(std::size_t n)
	{
		counts[KIND].blocks++;
		counts[KIND].bytes += (long)(n * sizeof(T));
		return std::allocator<T>().allocate(n);
	}
	void deallocate(T *p, std::size_t n) { std::allocator<T>().deallocate(p, n); }
	friend bool operator==(const counted &, const counted &) { return true; }
	friend bool operator!=(const counted &, const counted &) { return false; }
};

struct twelve { int a[3]; };
struct three { long a[3]; };
struct large { long a[46]; };
template <class T, int KIND> using vector_of = std::vector<T, counted<T, KIND>>;
using text = std::basic_string<char, std::char_traits<char>, counted<char, STRING>>;

static vector_of<long, ARRAY_8> longs;
static vector_of<twelve, ARRAY_12> twelves;
static vector_of<three, ARRAY_24> threes;
static vector_of<large, ARRAY_368> larges;
static vector_of<char, BYTES> bytes;
static std::map<int, long, std::less<int>, counted<std::pair<const int, long>, NODES>> map;
static std::set<twelve *, std::less<twelve *>, counted<twelve *, NODES>> set;
static text texts[1000];

OUT_OF_LINE static void add_long(int i) { longs.push_back(i); }
OUT_OF_LINE static void add_twelve(int i) { twelves.push_back(twelve{ { i, i, i } }); }
OUT_OF_LINE static void add_three(int i) { threes.push_back(three{ { i } }); }
OUT_OF_LINE static void add_large(int i) { larges.push_back(large{ { i } }); }
OUT_OF_LINE static void add_byte(int i) { bytes.push_back((char)i); }
OUT_OF_LINE static void add_map(int i) { map[i] = i; }
OUT_OF_LINE static void add_set(long i) { set.insert((twelve *)(i * 16)); }
OUT_OF_LINE static void reserve_threes(std::size_t n) { threes.reserve(n); }

// What base::Bind makes: a count, two functions, what is bound.
struct bound {
	int count;
	void (*invoke)(bound *);
	void (*destroy)(const bound *);
	OUT_OF_LINE bound(void (*i)(bound *), void (*d)(const bound *))
		: count(1), invoke(i), destroy(d) {}
};
struct bound_long : bound {
	long argument;
	bound_long(long n, void (*i)(bound *), void (*d)(const bound *))
		: bound(i, d), argument(n) {}
};
static bound *bounds[1000];
static long sum;
OUT_OF_LINE static void invoke_long(bound *b) { sum += static_cast<bound_long *>(b)->argument; }
OUT_OF_LINE static void destroy_long(const bound *b) { delete static_cast<const bound_long *>(b); }
OUT_OF_LINE static void add_callback(int i)
{
	counts[CALLBACKS].blocks++;
	counts[CALLBACKS].bytes += (long)sizeof(bound_long);
	bounds[i] = new bound_long(i, invoke_long, destroy_long);
}

// ---- no labels: each has one thing that a rule asks for, and not the rest ----

struct pair_of { long *a; void *b; };
static void *kept[8];
static volatile std::size_t number = 3700;

OUT_OF_LINE static void round_up() // a multiple of 16, without the limit of 22
{
	kept[0] = malloc((number + 15) & ~(std::size_t)15);
}
OUT_OF_LINE static void multiply() // by 24, without a limit
{
	kept[1] = malloc(number * 24);
}
OUT_OF_LINE static void divide() // the constant of a division by 3, and a shift
{
	kept[2] = malloc(number / 3 << 3);
}
OUT_OF_LINE static void object_behind_checks() // the limit of an array belongs to no object
{
	if (number > SIZE_MAX / 24)
		abort();
	kept[3] = new pair_of{ nullptr, nullptr };
}
OUT_OF_LINE static void two_functions() // stored by the function itself: two words, no count
{
	void (**words)() = (void (**)())malloc(40);

	words[1] = round_up;
	words[2] = multiply;
	kept[4] = words;
}

int main()
{
	for (int i = 0; i < 1000; i++) {
		add_long(i);
		add_twelve(i);
		add_three(i);
		add_large(i);
		add_byte(i);
		add_map(i);
		add_set(i);
		add_callback(i);
		for (int k = 0; k < i; k++)
			texts[i].push_back((char)k);
	}
	reserve_threes(number);
	round_up();
	multiply();
	divide();
	object_behind_checks();
	two_functions();
	bounds[5]->invoke(bounds[5]);
	for (int i = 0; i < KINDS; i++)
		printf("%ld %ld %s\n", counts[i].blocks, counts[i].bytes, labels[i]);
	printf("%ld\n", sum);
}
