// SPDX-License-Identifier: Apache-2.0
// Storage of strings, vectors and maps, callbacks, and blocks that only look like it. Prints for
// each expected label: the label, how many blocks it has, their bytes. The allocators count them.
#include <atomic>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
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
enum {
	STRING,
	ARRAY_8,
	ARRAY_12,
	ARRAY_24,
	ARRAY_368,
	BYTES,
	NODES,
	CALLBACKS,
	COUNTED,
	BUFFERS,
	KNOWN,
	ALIGNED,
	OBJECTS,
	WRAPPED,
	GAPS,
	QUOTIENT,
	KINDS
};
static const char *const labels[KINDS] = { "string",
					   "array of 8-byte elements",
					   "array of 12-byte elements",
					   "array of 24-byte elements",
					   "array of 368-byte elements",
					   "storage of vectors",
					   "map node",
					   "callback",
					   "reference-counted object",
					   "storage of buffers",
					   "SQLite memory",
					   "storage of aligned blocks",
					   "40-byte object",
					   "object of a wrapper",
					   "aligned block",
					   "storage of a quotient" };

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
static volatile std::size_t number = 3700;
OUT_OF_LINE static void invoke_long(bound *b) { sum += static_cast<bound_long *>(b)->argument; }
OUT_OF_LINE static void destroy_long(const bound *b) { delete static_cast<const bound_long *>(b); }
OUT_OF_LINE static void add_callback(int i)
{
	counts[CALLBACKS].blocks++;
	counts[CALLBACKS].bytes += (long)sizeof(bound_long);
	bounds[i] = new bound_long(i, invoke_long, destroy_long);
}

// ---- what the function does with the block ----

struct shared {
	std::atomic<int> references{ 0 };
	long value;
};
static shared *shares[1000];
OUT_OF_LINE static void add_shared(int i)
{
	counts[COUNTED].blocks++;
	counts[COUNTED].bytes += (long)sizeof(shared);
	shared *s = new shared;
	s->value = i;
	s->references.fetch_add(1, std::memory_order_relaxed);
	shares[i] = s;
}
static void count_bytes(std::size_t bytes)
{
	counts[BUFFERS].blocks++;
	counts[BUFFERS].bytes += (long)bytes;
}
static char *buffer;
static std::size_t filled, capacity;
OUT_OF_LINE static void add_to_buffer(char c) // copied into a larger one
{
	if (filled == capacity) {
		std::size_t larger = capacity * 2 + 64;
		char *grown = (char *)malloc(larger);

		count_bytes(larger);
		memcpy(grown, buffer, filled);
		free(buffer);
		buffer = grown;
		capacity = larger;
	}
	buffer[filled++] = c;
}
static char *tape;
OUT_OF_LINE static void lengthen_tape(std::size_t bytes)
{
	count_bytes(bytes);
	tape = (char *)realloc(tape, bytes);
}

// The size is known to whoever gets the block.
struct span {
	char *data;
	std::size_t bytes;
	char *end;
};
static span spans[3000];
static void *(*volatile fill)(void *, int, std::size_t) = memset; // else it is calloc
OUT_OF_LINE static void add_zeroed(span *s, std::size_t bytes)
{
	count_bytes(bytes);
	s->data = (char *)malloc(bytes);
	fill(s->data, 0, bytes);
}
OUT_OF_LINE static void add_span(span *s, std::size_t bytes)
{
	count_bytes(bytes);
	s->data = (char *)malloc(bytes);
	s->bytes = bytes;
}
OUT_OF_LINE static void add_ended(span *s, std::size_t bytes)
{
	count_bytes(bytes);
	s->data = (char *)malloc(bytes);
	s->end = s->data + bytes;
}
OUT_OF_LINE static void *aligned(std::size_t bytes, std::size_t alignment)
{
	void *block = nullptr;

	return posix_memalign(&block, alignment, bytes) ? nullptr : block;
}
OUT_OF_LINE static void add_aligned(span *s, std::size_t bytes)
{
	counts[ALIGNED].blocks++;
	counts[ALIGNED].bytes += (long)bytes;
	s->data = (char *)aligned(bytes, 64);
	s->bytes = bytes;
}

OUT_OF_LINE static void add_fixed(span *s) // nobody needs the end of an object
{
	count_bytes(4096);
	s->data = (char *)malloc(4096);
	s->end = s->data + 4096;
}

// What code.rules knows by its text. The same text in two functions says nothing.
static void *known[1000];
OUT_OF_LINE static void add_known(int i)
{
	counts[KNOWN].blocks++;
	counts[KNOWN].bytes += i + 8;
	long *block = (long *)malloc((std::size_t)i + 8);
	if (!block)
		printf("failed to allocate %u bytes of memory", (unsigned)i);
	else
		block[0] = i;
	known[i] = block;
}
OUT_OF_LINE static void resize_one()
{
	long *block = (long *)malloc(number);

	if (!block)
		printf("failed memory resize %u to %u bytes", 1u, (unsigned)number);
	known[0] = block;
}
OUT_OF_LINE static void resize_other()
{
	long *block = (long *)malloc(number + 1);

	if (!block)
		printf("failed memory resize %u to %u bytes", 2u, (unsigned)number);
	known[1] = block;
}

// Objects: what is written into a new block is of several kinds.
struct record {
	void *owner;
	int number;
	bool odd;
	record *next;
	double weight, sum;
};
struct made {
	void *owner;
	made *next;
	int number;
	short half;
	long more[2];
	OUT_OF_LINE made(int n)
		: owner(&filled), next(nullptr), number(n), half((short)n), more{ n, 1 }
	{
	}
};
static void *objects[4000];
static void count_object(int kind)
{
	counts[kind].blocks++;
	counts[kind].bytes += 40;
}
OUT_OF_LINE static void add_record(int i)
{
	count_object(OBJECTS);
	objects[i] = new record{ &objects[i], i, (i & 1) != 0, nullptr, i * 0.5, 1 };
}
OUT_OF_LINE static void add_made(int i)
{
	count_object(OBJECTS);
	objects[1000 + i] = new made(i);
}
static void *(*volatile other_malloc)(std::size_t);
OUT_OF_LINE static void *chosen(std::size_t bytes) // jumps to one of two: no known function
{
	void *(*other)(std::size_t) = other_malloc;

	return other ? other(bytes) : malloc(bytes);
}
OUT_OF_LINE static void add_chosen(int i)
{
	record *r = (record *)chosen(sizeof(record));

	count_object(OBJECTS);
	r->owner = r;
	r->number = i;
	r->next = nullptr;
	objects[2000 + i] = r;
}
static void (*volatile handler)();
OUT_OF_LINE static void *own_new(std::size_t bytes) // as a library's operator new
{
	void *block;

	bytes = bytes ? bytes : 1;
	while (!(block = malloc(bytes))) {
		if (!handler)
			abort();
		handler();
	}
	return block;
}
OUT_OF_LINE static void add_own(int i)
{
	record *r = (record *)own_new(sizeof(record));

	count_object(WRAPPED);
	r->owner = r;
	r->number = i;
	r->next = nullptr;
	objects[3000 + i] = r;
}
OUT_OF_LINE static void *by_hand(std::size_t bytes, std::size_t alignment)
{
	char *block = (char *)malloc(bytes + alignment + sizeof(void *));
	std::size_t behind = (std::size_t)block + sizeof(void *) + alignment - 1;
	void **inside = (void **)(behind & -alignment);

	counts[GAPS].blocks++;
	counts[GAPS].bytes += (long)(bytes + alignment + sizeof(void *));
	inside[-1] = block;
	return inside;
}

// ---- no labels: each has one thing that a rule asks for, and not the rest ----

struct pair_of { long *a; void *b; };
void *kept[16]; // somebody else may read it

OUT_OF_LINE static void round_up() // a multiple of 16, without the limit of 22
{
	kept[0] = malloc((number + 15) & ~(std::size_t)15);
}
OUT_OF_LINE static void multiply() // by 24, without a limit: elements, of nobody knows which size
{
	count_bytes(number * 24);
	kept[1] = malloc(number * 24);
}
OUT_OF_LINE static void divide() // the constant of a division by 3, and a shift; clang uses a mask
{
	counts[QUOTIENT].blocks++;
	counts[QUOTIENT].bytes += (long)(number / 3 << 3);
	kept[2] = malloc(number / 3 << 3);
}
OUT_OF_LINE static void object_behind_checks() // the limit of an array belongs to no object
{
	if (number > SIZE_MAX / 24)
		abort();
	kept[3] = new pair_of{ nullptr, nullptr };
}
OUT_OF_LINE static void header_then_bytes() // what is copied is a part of it
{
	long *block = (long *)malloc(number);

	block[0] = 1;
	memcpy(block + 1, texts[999].data(), 900);
	kept[5] = block;
}
struct plain { long count, value; };
OUT_OF_LINE static void count_elsewhere() // a count that is another object's
{
	plain *p = new plain{ 1, 2 };

	p->count += 2;
	shares[0]->references.fetch_add(1, std::memory_order_relaxed);
	kept[6] = p;
}
struct tailed { std::size_t count; char bytes[]; };
OUT_OF_LINE static void object_with_tail(std::size_t bytes)
{
	tailed *t = (tailed *)malloc(sizeof(tailed) + bytes);

	fill(t, 0, sizeof(tailed) + bytes);
	kept[7] = t;
}
struct large_object { long first, more[510], last; };
OUT_OF_LINE static void points_into_itself() // at its last member, not behind it
{
	large_object *o = (large_object *)malloc(sizeof(large_object));

	o->first = (long)&o->last;
	kept[10] = o;
}
OUT_OF_LINE static void *zeroed_block(std::size_t bytes) // its callers know what for
{
	void *block = malloc(bytes);

	if (block)
		fill(block, 0, bytes);
	return block;
}
OUT_OF_LINE static void aligned_object()
{
	plain *p = (plain *)aligned(sizeof(plain), 64);

	p->value = 1;
	kept[8] = p;
}
OUT_OF_LINE static void alike(long a, long b) // members of one kind may be elements
{
	long *elements = (long *)malloc(40);

	for (int i = 0; i < 5; i++)
		elements[i] = i & 1 ? a : b;
	kept[11] = elements;
}
OUT_OF_LINE static void short_text() // bytes of a constant, and the zero behind them
{
	char *text = (char *)malloc(30);

	memcpy(text, "twenty-nine bytes of constants", 30);
	text[29] = 0;
	kept[12] = text;
}
OUT_OF_LINE static void mixed_text(long word) // likewise, with a word that a register holds
{
	char *text = (char *)malloc(32);

	memcpy(text, "sixteen of these", 16);
	memcpy(text + 16, &word, 8);
	text[24] = 0;
	kept[12] = text;
}
OUT_OF_LINE static void use_buffer(char *buffer, std::size_t bytes)
{
	buffer[0] = 1;
	*(int *)(buffer + 4) = (int)bytes;
	*(char **)(buffer + 8) = buffer;
}
OUT_OF_LINE static void sized_buffer() // who gets the size too fills bytes
{
	char *buffer = (char *)malloc(200);

	use_buffer(buffer, 200);
	use_buffer((char *)kept[10], number);
	kept[13] = buffer;
}
OUT_OF_LINE static void small_range(char a, int b) // an object's end is of no use
{
	char *range = (char *)malloc(24);

	spans[0].end = range + 24;
	range[0] = a;
	*(int *)(range + 4) = b;
	kept[14] = range;
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
		add_shared(i);
		add_to_buffer((char)i);
		add_known(i);
		add_record(i);
		add_made(i);
		add_chosen(i);
		add_own(i);
		kept[15] = by_hand((std::size_t)i, 64u << (i & 1));
		lengthen_tape((std::size_t)i * 8 + 8);
		for (int k = 0; k < i; k++)
			texts[i].push_back((char)k);
	}
	for (std::size_t i = 0; i < 1000; i++) {
		add_zeroed(&spans[i], i + 1);
		add_span(&spans[1000 + i], i + 1);
		add_ended(&spans[2000 + i], i + 1);
		add_aligned(&spans[i], i + 1);
		add_fixed(&spans[i]);
	}
	reserve_threes(number);
	round_up();
	multiply();
	divide();
	resize_one();
	resize_other();
	object_behind_checks();
	header_then_bytes();
	count_elsewhere();
	two_functions();
	object_with_tail(number);
	kept[9] = zeroed_block(number);
	aligned_object();
	points_into_itself();
	alike((long)number, 3);
	short_text();
	mixed_text((long)number);
	sized_buffer();
	small_range((char)number, (int)number);
	objects[0] = chosen(number); // or the compiler puts the one size into the function
	objects[1] = own_new(number);
	bounds[5]->invoke(bounds[5]);
	for (int i = 0; i < KINDS; i++)
		printf("%ld %ld %s\n", counts[i].blocks, counts[i].bytes, labels[i]);
	printf("%ld\n", sum);
}
