// SPDX-License-Identifier: Apache-2.0
/*
 * ctors: makes objects in every place and ends them in every way, and keeps a book of its own: each
 * constructor and destructor body says itself that it ran, and where. Prints a line a class:
 * constructions delegated destructions start inside stack static elsewhere destroyed reused freed
 * persistent size. Built by ctors_test.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <map>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#define OUT __attribute__((noinline))

// ---- the book ----
namespace book {
struct Class {
	long constructions, delegated, destructions, places[5], destroyed, reused, freed,
		persistent, size;
};
struct Alive { long block; };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static std::map<std::string, Class> *classes;
static std::map<std::pair<std::string, uintptr_t>, Alive> *alive;
static std::map<uintptr_t, std::pair<size_t, long>> *blocks; // begin -> bytes, number
static long number;
static thread_local uintptr_t stack_top;

struct Locked {
	Locked()
	{
		pthread_mutex_lock(&lock);
	}
	~Locked()
	{
		pthread_mutex_unlock(&lock);
	}
};

static void begin(void *p, size_t bytes)
{
	Locked l;
	(*blocks)[(uintptr_t)p] = { bytes, ++number };
}
static void end(void *p) { Locked l; blocks->erase((uintptr_t)p); }

extern "C" char __executable_start, _end;

static int place(uintptr_t at, long *block)
{
	*block = 0;
	if (at > (uintptr_t)__builtin_frame_address(0) && at < stack_top)
		return 2;
	auto b = blocks->upper_bound(at);
	if (b != blocks->begin() && (--b, at - b->first < b->second.first)) {
		*block = b->second.second;
		return at != b->first;
	}
	return at >= (uintptr_t)&__executable_start && at < (uintptr_t)&_end ? 3 : 4;
}
static bool is_there(long block)
{
	if (!block)
		return true;
	for (auto &b : *blocks)
		if (b.second.second == block)
			return true;
	return false;
}
__attribute__((noinline)) static void made(const char *name, const void *self, size_t size,
					   bool by_another = false)
{
	Locked l;
	Class &c = (*classes)[name];
	auto key = std::make_pair(std::string(name), (uintptr_t)self);
	auto there = alive->find(key);
	long block;

	c.constructions++;
	c.size = (long)size;
	if (by_another) {
		c.delegated++;
		return;
	}
	if (there != alive->end())
		++(is_there(there->second.block) ? c.reused : c.freed);
	c.places[place((uintptr_t)self, &block)]++;
	(*alive)[key] = { block };
}
__attribute__((noinline)) static void ended(const char *name, const void *self)
{
	Locked l;
	Class &c = (*classes)[name];

	c.destructions++;
	c.destroyed += (long)alive->erase({ name, (uintptr_t)self });
}
struct Printer {
	Printer()
	{
		classes = new std::map<std::string, Class>;
		alive = new std::map<std::pair<std::string, uintptr_t>, Alive>;
		blocks = new std::map<uintptr_t, std::pair<size_t, long>>;
	}
	~Printer()
	{
		for (auto &a : *alive) {
			Class &c = (*classes)[a.first.first];
			++(is_there(a.second.block) ? c.persistent : c.freed);
		}
		for (auto &c : *classes)
			printf("truth %s %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld %ld\n",
			       c.first.c_str(), c.second.constructions, c.second.delegated,
			       c.second.destructions, c.second.places[0], c.second.places[1],
			       c.second.places[2], c.second.places[3], c.second.places[4],
			       c.second.destroyed, c.second.reused, c.second.freed,
			       c.second.persistent, c.second.size);
	}
};
static Printer printer __attribute__((init_priority(150)));

template <class T> struct Allocator {
	typedef T value_type;
	Allocator() {}
	template <class U> Allocator(const Allocator<U> &) {}
	T *allocate(size_t n)
	{
		void *p = ::operator new(n * sizeof(T));
		begin(p, n * sizeof(T));
		return (T *)p;
	}
	void deallocate(T *p, size_t) { end(p); ::operator delete(p); }
	bool operator==(const Allocator &) const { return true; }
	bool operator!=(const Allocator &) const { return false; }
};
}
#define TRACKED                                                                                     \
	static void *operator new(size_t n) { void *p = ::operator new(n); book::begin(p, n); return p; } \
	static void *operator new[](size_t n) { void *p = ::operator new[](n); book::begin(p, n); return p; } \
	static void *operator new(size_t, void *p) { return p; }                                      \
	static void operator delete(void *p) { if (p) book::end(p); ::operator delete(p); }                \
	static void operator delete[](void *p) { if (p) book::end(p); ::operator delete[](p); }
#define MADE(class) book::made("scene::" #class, this, sizeof *this)
#define MADE_TOO(class) book::made("scene::" #class, this, sizeof *this, true)
#define ENDED(class) book::ended("scene::" #class, this)

// ---- the classes ----
namespace scene {
struct Plain { TRACKED OUT Plain(); OUT ~Plain(); long at[4]; };
Plain::Plain() { MADE(Plain); at[0] = 1; }
Plain::~Plain() { ENDED(Plain); }

struct Moved {
	TRACKED OUT Moved(int);
	OUT Moved(const Moved &);
	OUT Moved(Moved &&) noexcept;
	Moved &operator=(Moved o)
	{
		std::swap(value, o.value);
		std::swap(text, o.text);
		return *this;
	}
	OUT ~Moved();
	int value;
	char *text;
};
Moved::Moved(int v) : value(v), text(strdup("text")) { MADE(Moved); }
Moved::Moved(const Moved &o) : value(o.value), text(strdup(o.text)) { MADE(Moved); }
Moved::Moved(Moved &&o) noexcept : value(o.value), text(o.text) { MADE(Moved); o.text = nullptr; }
Moved::~Moved() { ENDED(Moved); free(text); }

struct One { TRACKED OUT One(int); OUT virtual ~One(); OUT virtual int get() const; int one; };
struct Two { TRACKED OUT Two(double); OUT virtual ~Two(); double two; };
struct Both : One, Two {
	TRACKED OUT Both(int, double);
	OUT ~Both();
	OUT int get() const;
	Plain member;
};
One::One(int v) : one(v) { MADE(One); }
One::~One() { ENDED(One); }
int One::get() const { return one; }
Two::Two(double v) : two(v) { MADE(Two); }
Two::~Two() { ENDED(Two); }
Both::Both(int a, double b) : One(a), Two(b) { MADE(Both); }
Both::~Both() { ENDED(Both); }
int Both::get() const { return one + (int)two; }

struct Root { TRACKED OUT Root(int); OUT virtual ~Root(); int root; };
struct Left : virtual Root { TRACKED OUT Left(int); OUT ~Left(); long left; };
struct Right : virtual Root { TRACKED OUT Right(int); OUT ~Right(); long right; };
struct Diamond : Left, Right { TRACKED OUT Diamond(int); OUT ~Diamond(); long diamond; };
Root::Root(int v) : root(v) { MADE(Root); }
Root::~Root() { ENDED(Root); }
Left::Left(int v) : Root(v), left(v) { MADE(Left); }
Left::~Left() { ENDED(Left); }
Right::Right(int v) : Root(v), right(v) { MADE(Right); }
Right::~Right() { ENDED(Right); }
Diamond::Diamond(int v) : Root(v), Left(v), Right(v), diamond(v) { MADE(Diamond); }
Diamond::~Diamond() { ENDED(Diamond); }

struct Delegates {
	TRACKED OUT Delegates(int, int);
	OUT Delegates(int);
	OUT Delegates();
	OUT ~Delegates();
	int a, b;
};
Delegates::Delegates(int x, int y) : a(x), b(y) { MADE(Delegates); }
Delegates::Delegates(int x) : Delegates(x, 2) { MADE_TOO(Delegates); a++; }
Delegates::Delegates() : Delegates(1) { MADE_TOO(Delegates); b++; }
Delegates::~Delegates() { ENDED(Delegates); }

struct Thrower { TRACKED OUT Thrower(bool); OUT ~Thrower(); char odd; };
Thrower::Thrower(bool t) : odd(1) { MADE(Thrower); if (t) throw std::runtime_error("thrown"); }
Thrower::~Thrower() { ENDED(Thrower); }

struct Large { long at[6]; };
struct Many {
	TRACKED OUT Many(int, long, char, short, int, long, double, double, double, float, double,
			 double, double, double, Large, int);
	OUT Many(int, const char *, ...);
	OUT ~Many();
	double sum;
};
Many::Many(int a, long b, char c, short d, int e, long f, double g, double h, double i, float j,
	   double k, double l, double m, double n, Large o, int p)
    : sum((double)a + 2 * (double)b + 3 * c + 4 * d + 5 * e + 6 * (double)f + g + 2 * h + 3 * i +
	  4 * (double)j + 5 * k + 6 * l + 7 * m + 8 * n + (double)o.at[5] + p)
{
	MADE(Many);
}
Many::Many(int count, const char *kinds, ...) : sum(0)
{
	va_list list;
	va_start(list, kinds);
	for (int i = 0; i < count; i++)
		sum += kinds[i] == 'd' ? va_arg(list, double) : va_arg(list, int);
	va_end(list);
	MADE(Many);
}
Many::~Many() { ENDED(Many); }

template <class T> struct Template {
	TRACKED OUT Template(T);
	template <class U> OUT Template(U, int);
	OUT ~Template();
	T value;
};
template <class T> Template<T>::Template(T v) : value(v)
{
	book::made(sizeof(T) == 1 ? "scene::Template<char>" : "scene::Template<int>", this,
		   sizeof *this);
}
template <class T> template <class U> Template<T>::Template(U v, int) : value((T)v)
{
	book::made(sizeof(T) == 1 ? "scene::Template<char>" : "scene::Template<int>", this,
		   sizeof *this);
}
template <class T> Template<T>::~Template()
{
	book::ended(sizeof(T) == 1 ? "scene::Template<char>" : "scene::Template<int>", this);
}

namespace { struct Hidden { TRACKED OUT Hidden(int); OUT ~Hidden(); int value; }; }
Hidden::Hidden(int v) : value(v)
{
	book::made("scene::(anonymous namespace)::Hidden", this, sizeof *this);
}
Hidden::~Hidden() { book::ended("scene::(anonymous namespace)::Hidden", this); }

#ifdef __AVX__ // arguments in the registers' upper halves
typedef double Lanes __attribute__((vector_size(32)));
struct Wide { TRACKED OUT Wide(Lanes, Lanes); OUT ~Wide(); double sum; };
Wide::Wide(Lanes a, Lanes b) : sum(a[0] + 10 * a[1] + 100 * a[2] + 1000 * a[3] + b[3])
{
	MADE(Wide);
}
Wide::~Wide() { ENDED(Wide); }
#endif

struct Inlined {
	__attribute__((always_inline)) Inlined(int v) : value(v)
	{
		__asm__ volatile("" : : "r"(this) : "memory");
	}
	int value;
};

Plain static_plain;
Both static_both(1, 2.0);
static Moved static_array[3] = { 1, 2, 3 };
}
using namespace scene;

// ---- the scenes ----
#define SCENE static __attribute__((noinline)) void
static long checksum;

SCENE heap()
{
	for (int i = 0; i < 100; i++) {
		Plain *p = new Plain;
		One *o = i % 2 ? new One(i) : new Both(i, i);
		Two *t = new Both(i, 1.5);
		Root *r = i % 3 ? new Diamond(i) : i % 2 ? (Root *)new Left(i) : new Root(i);

		checksum += p->at[0] + o->get() + r->root;
		delete p;
		delete o;
		delete t;
		delete r;
		if (i % 10 == 0)
			checksum += (new Plain)->at[0]; // kept for ever
	}
	Plain *array = new Plain[17];
	delete[] array;
}
SCENE vectors()
{
	std::vector<Moved, book::Allocator<Moved>> v;
	for (int i = 0; i < 100; i++)
		v.push_back(Moved(i));
	for (int i = 0; i < 10; i++)
		v.emplace_back(i);
	std::vector<Moved, book::Allocator<Moved>> copy(v);
	copy.insert(copy.begin() + 3, Moved(7));
	copy.erase(copy.begin() + 5, copy.begin() + 20);
	checksum += copy[10].value;
}
SCENE stack(int depth)
{
	Plain p[3];
	Both b(depth, 2.5);
	Diamond d(depth);
	Hidden h(depth);
	Template<char> c('x');
	Template<int> i(2.5, 1);
	checksum += b.get() + d.root + p[1].at[0] + h.value + c.value + i.value;
	if (depth)
		stack(depth - 1);
}
SCENE ring(char *at, size_t bytes, int rounds)
{
	for (int round = 0; round < rounds; round++) {
		size_t used = 0;

		while (used + sizeof(Both) + sizeof(Plain) + sizeof(Thrower) <= bytes) {
			Both *b = new (at + used) Both(1, 2.0);
			used += sizeof(Both);
			Plain *p = new (at + used) Plain;
			used += sizeof(Plain);
			if (round % 2)
				b->~Both(); // destroyed without a free
			if (used % 3 == 0)
				p->~Plain(); // the others are constructed over
		}
	}
}
SCENE rings()
{
	alignas(16) static char in_static[2000];
	alignas(16) char on_stack[1000];
	char *block = (char *)malloc(3000),
	     *mapped = (char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0);

	book::begin(block, 3000);
	ring(block, 3000, 4);
	ring(in_static, sizeof in_static, 3);
	ring(on_stack, sizeof on_stack, 2);
	ring(mapped, 8192, 3);
	book::end(block);
	free(block); // with what is in it
}
SCENE others()
{
	for (int i = 0; i < 20; i++) {
		Delegates a, b(3), c(4, 5);
		Delegates *d = new Delegates(i);
		checksum += a.a + a.b + b.a + c.b + d->a;
		delete d;
		errno = 77;
		Many m(i, 2, 3, 4, 5, 6, 1.5, 2.5, 3.5, 4.5f, 5.5, 6.5, 7.5, 8.5,
		       Large{ { 0, 0, 0, 0, 0, 9 } }, 10),
			n(4, "didi", 1.25, 2, 3.75, 4);
		checksum += (long)m.sum + (long)n.sum + errno;
#ifdef __AVX__
		Wide w(Lanes{ 1, 2, 3, (double)i }, Lanes{ 5, 6, 7, 8 });
		checksum += (long)w.sum;
#endif
		Inlined in(i);
		checksum += in.value;
		Hidden *h = new Hidden(i);
		checksum += h->value;
		delete h;
	}
	for (int i = 0; i < 30; i++) {
		try {
			Thrower on_stack(i % 3 == 0);
			checksum += on_stack.odd;
		} catch (std::runtime_error &e) {
			checksum += (long)strlen(e.what());
		}
		try {
			Thrower *t = new Thrower(i % 2);
			checksum += t->odd;
			delete t;
		} catch (std::runtime_error &e) {
			checksum += 1000;
		}
	}
	char odd[64];
	for (int i = 0; i < 7; i++) { // at odd addresses
		Thrower *t = new (odd + i * 3) Thrower(false);
		t->~Thrower();
	}
}
static void *thread(void *)
{
	int here = 0;
	book::stack_top = (uintptr_t)&here + 1024;
	stack(5);
	for (int i = 0; i < 200; i++)
		delete new Plain;
	return NULL;
}
static void run(char **argv)
{
	pthread_t threads[4];

	book::stack_top = (uintptr_t)argv;
	heap();
	vectors();
	stack(3);
	rings();
	others();
	for (pthread_t &t : threads)
		pthread_create(&t, NULL, thread, NULL);
	for (pthread_t &t : threads)
		pthread_join(t, NULL);
}
int main(int, char **argv)
{
	run(argv);
	printf("checksum %ld\n", checksum);
	return 3;
}
