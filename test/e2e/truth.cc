// SPDX-License-Identifier: Apache-2.0
// build: -std=gnu++17 -fno-optimize-sibling-calls
/*
 * truth: allocates in every way that C and C++ know, and prints its own exact table of what it did
 * (ledger.h).
 * Usage: truth single|threads|fork|realloc|aligned|arrays|polymorphic|kill|mixed [scale]
 *
 * The truth_ functions are the call sites. Sites of arrays say the address and the size that
 * operator new[] handed out: the cookie in front of the elements counts.
 */
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>

#include <new>

#include "ledger.h"

using ledger::alloced;
using ledger::freeing;

#define SITE extern "C" __attribute__((noinline))
// the compiler must neither turn the call into a jump nor remove a new that is deleted
#define KEEP(pointer) __asm__ volatile("" : "+r"(pointer) : : "memory")

static unsigned scale = 5;

// ---- the C family ----
SITE void *truth_malloc(size_t size)
{
	void *p = malloc(size);
	KEEP(p);
	alloced("truth_malloc", p, size);
	return p;
}
SITE void *truth_calloc(size_t count, size_t size)
{
	void *p = calloc(count, size);
	KEEP(p);
	alloced("truth_calloc", p, count * size);
	return p;
}
// one function for both: a realloc that moves and one that does not are the same call to the
// program
static void *resized(const char *site, uintptr_t old, void *p, size_t size)
{
	ledger::locked guard;
	ledger::end(old);
	if (p) // size 0, and this allocator only frees
		ledger::begin(site, p, size, nullptr, false, true);
	return p;
}
SITE void *truth_realloc(void *old, size_t size)
{
	uintptr_t was = (uintptr_t)old;
	void *p = realloc(old, size);
	KEEP(p);
	return resized("truth_realloc", was, p, size);
}
SITE void *truth_reallocarray(void *old, size_t count, size_t size)
{
	uintptr_t was = (uintptr_t)old;
	void *p = reallocarray(old, count, size);
	KEEP(p);
	return resized("truth_reallocarray", was, p, count * size);
}
SITE void *truth_realloc_null(size_t size)
{
	void *p = realloc(nullptr, size);
	KEEP(p);
	alloced("truth_realloc_null", p, size);
	return p;
}
SITE void *truth_realloc_zero(void *old)
{
	uintptr_t was = (uintptr_t)old;
	void *p = realloc(old, 0);
	KEEP(p);
	return resized("truth_realloc_zero", was, p, 0);
}
// too much for any allocator: the old block must stay
SITE void truth_realloc_fails(void *old)
{
	volatile size_t huge = (size_t)PTRDIFF_MAX - 4096;
	void *p = realloc(old, huge);
	KEEP(p);
	if (p)
		ledger::fail("truth: a realloc of half the address space worked");
}
SITE void truth_malloc_fails()
{
	volatile size_t huge = (size_t)PTRDIFF_MAX - 4096;
	void *p = malloc(huge);
	KEEP(p);
	if (p)
		ledger::fail("truth: a malloc of half the address space worked");
}
SITE void truth_free(void *p)
{
	freeing(p);
	free(p);
	__asm__ volatile("" ::: "memory");
}

// ---- aligned ----
SITE void *truth_aligned_alloc(size_t alignment, size_t size)
{
	void *p = aligned_alloc(alignment, size);
	KEEP(p);
	alloced("truth_aligned_alloc", p, size);
	return p;
}
SITE void *truth_posix_memalign(size_t alignment, size_t size)
{
	void *p = nullptr;
	if (posix_memalign(&p, alignment, size))
		ledger::fail("truth: posix_memalign failed");
	KEEP(p);
	alloced("truth_posix_memalign", p, size);
	return p;
}
SITE void *truth_memalign(size_t alignment, size_t size)
{
	void *p = memalign(alignment, size);
	KEEP(p);
	alloced("truth_memalign", p, size);
	return p;
}
SITE void *truth_valloc(size_t size)
{
	void *p = valloc(size);
	KEEP(p);
	alloced("truth_valloc", p, size);
	return p;
}

// ---- plain C++ ----
struct plain {
	long a, b;
};
struct alignas(64) wide {
	char bytes[192];
};
struct guarded { // a destructor makes new[] put a cookie in front
	int value = 7;
	~guarded() { __asm__ volatile("" : : "r"(this) : "memory"); }
};
struct alignas(64) wide_guarded {
	int value = 7;
	~wide_guarded() { __asm__ volatile("" : : "r"(this) : "memory"); }
};
SITE plain *truth_new_plain()
{
	plain *p = new plain();
	KEEP(p);
	alloced("truth_new_plain", p, sizeof *p);
	return p;
}
SITE plain *truth_new_nothrow()
{
	plain *p = new (std::nothrow) plain();
	KEEP(p);
	alloced("truth_new_nothrow", p, sizeof *p);
	return p;
}
SITE wide *truth_new_wide()
{
	wide *p = new wide;
	KEEP(p);
	alloced("truth_new_wide", p, sizeof *p);
	return p;
}
SITE wide *truth_new_wide_nothrow()
{
	wide *p = new (std::nothrow) wide;
	KEEP(p);
	alloced("truth_new_wide_nothrow", p, sizeof *p);
	return p;
}
SITE void *truth_operator_new(size_t size)
{
	void *p = ::operator new(size);
	KEEP(p);
	alloced("truth_operator_new", p, size);
	return p;
}
template <class T> __attribute__((noinline)) static void drop(T *p)
{
	freeing(p);
	delete p;
}
template <class T> __attribute__((noinline)) static void drop_array(T *p, size_t cookie)
{
	freeing((char *)p - cookie);
	delete[] p;
}

// ---- arrays ----
struct animal {
	long weight = 1;
	virtual ~animal() { __asm__ volatile("" : : "r"(this) : "memory"); }
	virtual int legs() { return 4; }
};
struct bird : animal {
	long wings = 2;
	int legs() override { return 2; }
};
SITE char *truth_new_chars(size_t count)
{
	char *p = new char[count];
	KEEP(p);
	alloced("truth_new_chars", p, count);
	return p;
}
SITE guarded *truth_new_guarded(size_t count)
{
	guarded *p = new guarded[count];
	KEEP(p);
	alloced("truth_new_guarded", (char *)p - 8, count * sizeof *p + 8);
	return p;
}
SITE wide_guarded *truth_new_wide_guarded(size_t count)
{
	wide_guarded *p = new wide_guarded[count];
	KEEP(p);
	alloced("truth_new_wide_guarded", (char *)p - 64, count * sizeof *p + 64);
	return p;
}
SITE bird *truth_new_birds(size_t count)
{
	bird *p = new bird[count];
	KEEP(p);
	alloced("truth_new_birds", (char *)p - 8, count * sizeof *p + 8, "bird");
	return p;
}

// ---- polymorphic ----
struct left {
	long l = 1;
	virtual ~left() { __asm__ volatile("" : : "r"(this) : "memory"); }
	virtual int left_value() { return 1; }
};
struct right {
	long r = 2;
	virtual ~right() { __asm__ volatile("" : : "r"(this) : "memory"); }
	virtual int right_value() { return 2; }
};
struct both : left, right {
	long own = 3;
	int right_value() override { return 4; }
};
struct diamond_left : virtual animal {
	long dl = 1;
};
struct diamond_right : virtual animal {
	long dr = 1;
};
struct diamond : diamond_left, diamond_right {
	int legs() override { return 8; }
};
// while the base is being constructed, another block is: the word that is read then is the base's
SITE void *truth_base_buffer()
{
	void *p = malloc(40);
	KEEP(p);
	alloced("truth_base_buffer", p, 40);
	return p;
}
struct owner {
	void *buffer;
	owner() : buffer(truth_base_buffer()) { __asm__ volatile("" : : "r"(this) : "memory"); }
	virtual ~owner() { truth_free(buffer); }
};
struct owner_of_more : owner {
	long more = 5;
	~owner_of_more() override { __asm__ volatile("" : : "r"(this) : "memory"); }
};
namespace shapes {
template <class T> struct box : animal {
	T value{};
	int legs() override { return 0; }
};
} // namespace shapes

// `brief`: of this site every block is deleted at once, otherwise the blocks live until other
// blocks have come and gone
#define POLYMORPHIC(name, T, text)                              \
	SITE T *truth_new_##name()                              \
	{                                                       \
		T *p = new T;                                   \
		KEEP(p);                                        \
		alloced("truth_new_" #name, p, sizeof *p, text);      \
		return p;                                       \
	}                                                       \
	SITE T *truth_brief_##name()                            \
	{                                                       \
		T *p = new T;                                   \
		KEEP(p);                                        \
		alloced("truth_brief_" #name, p, sizeof *p, text, true); \
		return p;                                       \
	}
POLYMORPHIC(animal, animal, "animal")
POLYMORPHIC(bird, bird, "bird")
POLYMORPHIC(both, both, "both")
POLYMORPHIC(diamond, diamond, "diamond")
POLYMORPHIC(owner, owner_of_more, "owner_of_more")
POLYMORPHIC(box, shapes::box<int>, "shapes::box<int>")

// the only class whose blocks are deleted through a pointer that is not their start
__attribute__((noinline)) static void drop_as(both *p, right *view)
{
	freeing(p);
	delete view;
}

// ---- modes ----
static uint32_t chance(uint32_t *state)
{
	return *state = *state * 1664525 + 1013904223, *state >> 8;
}

static void single()
{
	uint32_t state = 1;
	void *kept[1000] = {};
	for (unsigned i = 0; i < 4000 * scale; i++) {
		unsigned at = chance(&state) % 1000;
		truth_free(kept[at]);
		switch (chance(&state) % 4) {
		case 0:
			kept[at] = truth_calloc(1 + chance(&state) % 9, chance(&state) % 300);
			break;
		case 1: kept[at] = nullptr; break;
		default: kept[at] = truth_malloc(chance(&state) % 2000); break;
		}
	}
	for (int i = 0; i < 5; i++) // larger than the size field of a record
		truth_malloc((size_t)(1 + i) << 20);
	for (int i = 0; i < 3; i++)
		truth_free(truth_malloc(((size_t)1 << 20) - 1 + (size_t)i));
	truth_malloc_fails();
	for (unsigned i = 0; i < 500; i++) {
		plain *a = truth_new_plain(), *b = truth_new_nothrow();
		if (i % 2)
			drop(a);
		if (i % 3)
			drop(b);
		void *raw = truth_operator_new(i);
		freeing(raw);
		::operator delete(raw);
	}
}

enum { WORKERS = 8, SLOTS = 4096 };
static void *exchange[SLOTS];
static pthread_barrier_t barrier;
static void *worker(void *argument)
{
	uint32_t state = 100 + (uint32_t)(uintptr_t)argument;
	for (unsigned i = 0; i < 4000 * scale; i++) {
		// what another thread put there is freed here
		void *mine = truth_malloc(16 + chance(&state) % 500);
		void *theirs = __atomic_exchange_n(&exchange[chance(&state) % SLOTS], mine,
						   __ATOMIC_ACQ_REL);
		truth_free(theirs);
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 100; i++) // freed by the main thread after this one has ended
		__atomic_store_n(&exchange[((uintptr_t)argument * 100 + (unsigned)i)],
				 (truth_free(exchange[(uintptr_t)argument * 100 + (unsigned)i]),
				  truth_malloc(32)),
				 __ATOMIC_RELEASE);
	return nullptr;
}
static void run_threads()
{
	pthread_t threads[WORKERS];
	pthread_barrier_init(&barrier, nullptr, WORKERS);
	for (uintptr_t i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], nullptr, worker, (void *)i))
			ledger::fail("truth: no thread");
	for (pthread_t thread : threads)
		pthread_join(thread, nullptr);
	for (int i = 0; i < SLOTS; i += 2) {
		truth_free(exchange[i]);
		exchange[i] = nullptr;
	}
}

[[noreturn]] static void child_of(void **blocks, int count, int depth)
{
	char name[16];
	snprintf(name, sizeof name, "child%d", depth);
	ledger::forked();
	for (int i = depth; i < count; i += 3) { // the parent frees some of the same addresses
		truth_free(blocks[i]);
		blocks[i] = i % 2 ? truth_malloc((size_t)i) : nullptr;
	}
	for (int i = 0; i < 300; i++)
		truth_new_bird();
	if (depth < 3) {
		pid_t pid = fork();
		if (pid < 0)
			ledger::fail("truth: no fork");
		if (pid == 0)
			child_of(blocks, count, depth + 1);
		for (int i = 0; i < count; i += 5) {
			truth_free(blocks[i]);
			blocks[i] = nullptr;
		}
		int status;
		if (waitpid(pid, &status, 0) != pid || status)
			ledger::fail("truth: the child of the child failed");
	}
	ledger::print(name);
	_exit(0);
}
static void run_fork()
{
	enum { COUNT = 6000 };
	static void *blocks[COUNT];
	for (int i = 0; i < COUNT; i++)
		blocks[i] = i % 7 ? truth_malloc(10 + (size_t)i % 300)
				  : truth_calloc(3, (size_t)i % 40);
	for (int i = 0; i < 200; i++)
		truth_new_both();
	pid_t pid = fork();
	if (pid < 0)
		ledger::fail("truth: no fork");
	if (pid == 0)
		child_of(blocks, COUNT, 1);
	for (int i = 0; i < COUNT; i += 2) {
		truth_free(blocks[i]);
		blocks[i] = truth_malloc(24);
	}
	int status;
	if (waitpid(pid, &status, 0) != pid || status)
		ledger::fail("truth: the child failed");
}

static void run_realloc()
{
	void *pins[400];
	for (unsigned round = 0; round < 4 * scale; round++) {
		for (int i = 0; i < 400; i++) {
			void *p = truth_malloc(64);
			// in the way of growing in place
			pins[i] = i % 2 ? truth_malloc(64) : nullptr;
			for (size_t size = 65; size < 3000; size = size * 3 / 2)
				p = truth_realloc(p, size);
			p = truth_realloc(p, 200); // shrinks in place
			p = truth_realloc(p, 200); // changes nothing
			p = truth_reallocarray(p, 5, 77);
			truth_realloc_fails(p);
			switch (i % 4) {
			case 0: truth_free(p); break;
			case 1: truth_free(truth_realloc_zero(p)); break;
			case 2:
				truth_free(truth_realloc(truth_realloc_null(30), 1 << 21));
				truth_free(p);
				break;
			default: if (round) truth_free(p); break; // the first round's stay
			}
		}
		for (void *pin : pins)
			truth_free(pin);
	}
	// one end of the heap, growing where it stands, then by mremap
	void *p = truth_malloc(100);
	for (size_t size = 1000; size < 8 << 20; size += size / 3)
		p = truth_realloc(p, size);
}

static void run_aligned()
{
	for (unsigned i = 0; i < 400 * scale; i++) {
		void *a = truth_aligned_alloc(64, 64 * (1 + i % 9)),
		     *b = truth_posix_memalign(256, 1 + i % 700);
		void *c = truth_memalign(32, i % 100), *d = i % 20 ? nullptr : truth_valloc(5000);
		wide *e = truth_new_wide(), *f = truth_new_wide_nothrow();
		if (i % 3)
			truth_free(a), truth_free(c), drop(e);
		if (i % 5)
			truth_free(b), truth_free(d), drop(f);
	}
}

static void run_arrays()
{
	for (unsigned i = 0; i < 400 * scale; i++) {
		char *a = truth_new_chars(i);
		guarded *b = truth_new_guarded(i % 30);
		wide_guarded *c = truth_new_wide_guarded(i % 5);
		if (i % 3)
			drop_array(a, 0), drop_array(b, 8), drop_array(c, 64);
	}
	for (unsigned i = 0; i < 500; i++)
		truth_new_birds(1 + i % 8);
}

static void run_polymorphic()
{
	animal *kept[500] = {};
	for (unsigned i = 0; i < 500; i++) { // to the end
		truth_new_animal(), truth_new_both(), truth_new_diamond(), truth_new_owner(),
			truth_new_box();
		kept[i] = truth_new_bird();
	}
	static void *crowd[200000];
	for (void *&p : crowd) // so many others that every one of the above is old
		p = truth_malloc(16 + (uintptr_t)(&p - crowd) % 64);
	for (void *p : crowd)
		truth_free(p);
	for (unsigned i = 0; i < 500; i += 2)
		drop(kept[i]);
	for (unsigned i = 0; i < 200 * scale; i++) {
		drop(truth_brief_animal()), drop(truth_brief_bird()), drop(truth_brief_diamond()),
			drop(truth_brief_owner());
		drop(truth_brief_box());
		both *b = truth_brief_both();
		drop_as(b, b);
	}
}

static void *waits_to_be_killed(void *)
{
	for (int i = 0; i < 700; i++) {
		void *p = truth_malloc(48);
		if (i % 3)
			truth_free(p);
	}
	pthread_barrier_wait(&barrier);
	for (;;)
		pause();
}
static void run_kill()
{
	pthread_t thread;
	pthread_barrier_init(&barrier, nullptr, 4);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread, nullptr, waits_to_be_killed, nullptr);
	single();
	run_arrays();
	pthread_barrier_wait(&barrier);
	ledger::print("main");
	raise(SIGKILL);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	scale = argc > 2 ? (unsigned)atoi(argv[2]) : scale;
	struct {
		const char *name;
		void (*run)();
	} modes[] = {
		{ "single", single },
		{ "threads", run_threads },
		{ "fork", run_fork },
		{ "realloc", run_realloc },
		{ "aligned", run_aligned },
		{ "arrays", run_arrays },
		{ "polymorphic", run_polymorphic },
		{ "kill", run_kill },
	};
	bool mixed = !strcmp(mode, "mixed"), found = mixed;
	for (auto &m : modes)
		if (!strcmp(mode, m.name) || (mixed && m.run != run_kill)) {
			found = true;
			m.run();
		}
	if (!found) {
		fprintf(stderr, "usage: truth "
				"single|threads|fork|realloc|aligned|arrays|polymorphic|kill|mixed "
				"[scale]\n");
		return 2;
	}
	ledger::print("main");
	return 7; // a status that nobody else returns by chance
}
