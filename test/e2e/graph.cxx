// SPDX-License-Identifier: Apache-2.0
//
// graph.cxx: designed graphs of blocks that print their own truth, then wait for a byte on standard
// input.
//
//   edge SOURCE OFFSET TARGET OFFSET   a word of a block points into a block
//   root KIND TARGET OFFSET            a root points there
//   direct BLOCK, indirect BLOCK   no root reaches it; no other such block, or one, points there
//   hidden BLOCK                       likewise direct: only a disguised pointer leads to it
//
// Text goes through a static buffer, and what made the unreachable blocks is wiped off the stack.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <pthread.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

#define NOINLINE __attribute__((noinline))

static char text[1 << 16];
static const uintptr_t MASK = 0x5a5a5a5a5a5a5a5aul;

static long between(const void *from, const void *to)
{
	return (long)((const char *)to - (const char *)from);
}

static NOINLINE void edge(const void *source, const void *word, const void *target, const void *to)
{
	printf("edge %lx %ld %lx %ld\n", (long)source, between(source, word), (long)target,
	       between(target, to));
}

static NOINLINE void root(const char *what, const void *target, const void *to)
{
	printf("root %s %lx %ld\n", what, (long)target, between(target, to));
}

static NOINLINE void lost(const char *how, const void *block)
{
	printf("%s %lx\n", how, (long)block);
}

struct node {
	node *next, *other;
	long value;
};

node *g_list, *g_cycle, *g_diamond, *g_owner_a, *g_owner_b;
char *g_inside, *g_behind;
thread_local node *t_own;

static NOINLINE node *make(node *next, node *other)
{
	node *n = (node *)malloc(sizeof(node));

	*n = { next, other, 7 };
	if (next)
		edge(n, &n->next, next, next);
	if (other)
		edge(n, &n->other, other, other);
	return n;
}

static NOINLINE node *tree(int depth)
{
	return depth ? make(tree(depth - 1), tree(depth - 1)) : make(nullptr, nullptr);
}

static NOINLINE void reached()
{
	node *bottom;

	for (int i = 0; i < 100; i++)
		g_list = make(g_list, nullptr);
	root("variable", g_list, g_list);
	g_cycle = make(nullptr, nullptr);
	g_cycle->next = make(g_cycle, nullptr);
	edge(g_cycle, &g_cycle->next, g_cycle->next, g_cycle->next);
	bottom = make(nullptr, nullptr);
	g_diamond = make(make(bottom, nullptr), make(bottom, nullptr));
	bottom = make(nullptr, nullptr);
	g_owner_a = make(bottom, tree(4));
	g_owner_b = make(bottom, tree(3));
	t_own = make(nullptr, nullptr);
	root("thread-local", t_own, t_own);
	// into the middle, and behind the end
	g_inside = (char *)malloc(100);
	root("variable", g_inside, g_inside + 64);
	g_inside += 64;
	g_behind = (char *)malloc(48);
	root("variable", g_behind, g_behind + 48);
	lost("direct", g_behind); // such a pointer is an edge, and keeps nothing
	g_behind += 48;
}

// ---- containers ----
struct base {
	virtual ~base() {}
	long b = 1;
};
struct second {
	virtual ~second() {}
	long s = 2;
};
struct both : base, second {
	long c = 3;
};
struct chained {
	chained *next, *before;
};
struct listed { // an intrusive list: the link is in the middle
	long payload[4];
	chained hook;
};

struct holder {
	std::shared_ptr<node> shared;
	std::weak_ptr<node> weak;
	std::unique_ptr<node> unique;
	second *base_of;
	std::map<int, std::string> names;
	std::vector<node *> nodes;
	chained head;
};
holder *g_holder;

static NOINLINE void containers()
{
	holder *h = g_holder = new holder;

	root("variable", h, h);
	h->unique.reset(new node{ nullptr, nullptr, 1 });
	edge(h, &h->unique, h->unique.get(), h->unique.get());
	h->shared.reset(new node{ nullptr, nullptr, 2 });
	edge(h, &h->shared, h->shared.get(), h->shared.get());
	h->weak = h->shared; // the count's block is held by both
	{
		void *count = ((void **)&h->shared)[1];

		edge(h, (void **)&h->shared + 1, count, count);
		edge(h, (void **)&h->weak + 1, count, count);
	}
	both *b = new both;
	h->base_of = b;
	edge(h, &h->base_of, b, h->base_of);
	for (int i = 0; i < 20; i++) {
		std::string &s = h->names[i];

		s.assign(100, 'x');
		// the node holds the string, which holds its text
		char *pair = (char *)&*h->names.find(i);
		void *node_of_tree = pair - 32;

		edge(node_of_tree, &s, s.data(), s.data());
	}
	void *leftmost = (char *)&*h->names.begin() - 32;

	edge(h, (void **)&h->names + 3, leftmost, leftmost);
	h->nodes.reserve(8);
	for (int i = 0; i < 5; i++) {
		h->nodes.push_back(new node{ nullptr, nullptr, i });
		edge(h->nodes.data(), &h->nodes[i], h->nodes[i], h->nodes[i]);
	}
	edge(h, (void **)&h->nodes, h->nodes.data(), h->nodes.data());
	edge(h, (void **)&h->nodes + 1, h->nodes.data(), h->nodes.data() + 5);
	edge(h, (void **)&h->nodes + 2, h->nodes.data(), h->nodes.data() + 8); // behind its end
	h->head.next = h->head.before = &h->head;
	for (int i = 0; i < 3; i++) {
		listed *l = new listed{ {}, { h->head.next, &h->head } };

		h->head.next->before = &l->hook;
		h->head.next = &l->hook;
		if (i == 0)
			edge(h, &h->head.before, l, &l->hook);
		if (i == 2)
			edge(h, &h->head.next, l, &l->hook);
		if (i == 2)
			edge(l, &l->hook.before, h, &h->head);
	}
}

// ---- what nothing leads to ----
static NOINLINE void unreached()
{
	for (int i = 0; i < 10; i++) {
		node *n = (node *)malloc(sizeof(node));

		*n = { (node *)malloc(200), nullptr, 0 };
		memset(n->next, 0, 200);
		lost("direct", n);
		lost("indirect", n->next);
		edge(n, &n->next, n->next, n->next);
	}
	node *a = (node *)malloc(sizeof(node)); // a cycle is indirect
	node *b = (node *)malloc(sizeof(node));

	*a = { b, nullptr, 0 };
	*b = { a, nullptr, 0 };
	lost("indirect", a);
	lost("indirect", b);
	a = (node *)malloc(sizeof(node)); // that points to itself only
	*a = { a, nullptr, 0 };
	lost("direct", a);
}

uintptr_t g_masked, g_tagged, g_in_register;
static NOINLINE void disguised()
{
	void *p = calloc(1, 300);

	g_masked = (uintptr_t)p ^ MASK;
	lost("hidden", p);
	p = calloc(1, 300);
	g_tagged = (uintptr_t)p | 0xff00000000000000ul;
	lost("hidden", p);
	p = calloc(1, 400);
	g_in_register = (uintptr_t)p ^ MASK;
	root("register", p, p);
}

static NOINLINE void mapped()
{
	void **page = (void **)mmap(nullptr, 1 << 20, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[1000] = calloc(1, 500);
	root("mapping", page[1000], page[1000]);
}

static pthread_barrier_t barrier;
static NOINLINE void *waits(void *)
{
	node *volatile mine = (node *)calloc(1, 600); // of its stack alone

	root("stack", mine, mine);
	fflush(stdout);
	pthread_barrier_wait(&barrier);
	pthread_barrier_wait(&barrier);
	free(mine);
	return nullptr;
}

static NOINLINE void wipe()
{
	volatile char below[1 << 16];

	for (unsigned i = 0; i < sizeof(below); i++)
		below[i] = 0;
}

// Reads a byte from standard input, with a pointer in r12 that is nowhere else.
static NOINLINE void wait_for_byte()
{
	static char byte;

	asm volatile("mov %0, %%r12\n"
		     "xor %1, %%r12\n"
		     "xor %%eax, %%eax\n"
		     "xor %%edi, %%edi\n"
		     "mov %2, %%rsi\n"
		     "mov $1, %%edx\n"
		     "syscall\n"
		     "xor %%r12d, %%r12d\n"
		     :
		     : "m"(g_in_register), "r"(MASK), "r"(&byte)
		     : "rax", "rdi", "rsi", "rdx", "rcx", "r11", "r12", "memory");
}

int main()
{
	pthread_t thread;

	setvbuf(stdout, text, _IOFBF, sizeof(text));
	pthread_barrier_init(&barrier, nullptr, 2);
	reached();
	containers();
	unreached();
	disguised();
	mapped();
	fflush(stdout);
	memset(text, 0, sizeof(text));
	pthread_create(&thread, nullptr, waits, nullptr);
	pthread_barrier_wait(&barrier);
	wipe();
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
	wait_for_byte();
	pthread_barrier_wait(&barrier);
	pthread_join(thread, nullptr);
	puts("done");
	return 0;
}
