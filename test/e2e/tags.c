/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tags.c: threads with tags, within each other, inherited, forked, from a signal handler, too many
 * and too deep; and marks. It keeps a book of every block by the tag that it must have, and prints
 * it: `book WHO TAG allocs bytes frees inherited`, `refused N`, `between FROM TO blocks bytes`.
 * With an argument it stops at some points until a line comes: `stop NAME`.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <shiny/shiny.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

enum { BOOKS = 1200, NAMES = 1023, DEPTH = 32, THREADS = 4, ROUNDS = 20000 };

struct book { char tag[80]; unsigned long allocs, bytes, frees, inherited; };
static struct book books[BOOKS];
static unsigned book_count, names, refused;
static unsigned long taken, taken_bytes;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile int interactive;

static struct book *book_of(const char *tag)
{
	for (unsigned i = 0; i < book_count; i++)
		if (strcmp(books[i].tag, tag) == 0)
			return &books[i];
	if (book_count == BOOKS)
		abort();
	strcpy(books[book_count].tag, tag);
	return &books[book_count++];
}

static void note(const char *tag, const char *old, size_t bytes)
{
	pthread_mutex_lock(&lock);
	if (bytes) {
		book_of(tag)->allocs++;
		book_of(tag)->bytes += bytes;
		taken++;
		taken_bytes += bytes;
	}
	if (old)
		book_of(old)->frees++;
	pthread_mutex_unlock(&lock);
}

/* A process may have so many names. True: it has this one. */
static int have_name(const char *name)
{
	static char known[BOOKS][80];
	unsigned i = 0;

	pthread_mutex_lock(&lock);
	while (i < names && strcmp(known[i], name) != 0)
		i++;
	if (i == names && i < NAMES)
		strcpy(known[names++], name);
	pthread_mutex_unlock(&lock);
	return i < NAMES;
}

static void push(const char *name)
{
	have_name(name);
	shiny_tag_push(name);
}

/* A typed pointer: functions that return void * are looked through as allocation wrappers. */
NOINLINE char *take(const char *tag, size_t bytes)
{
	void *block = malloc(bytes);

	note(tag, NULL, bytes);
	return block;
}

NOINLINE char *take_more(const char *tag, const char *old, void *block, size_t bytes)
{
	block = realloc(block, bytes);
	note(tag, old, bytes);
	return block;
}

static void give(const char *tag, void *block)
{
	free(block);
	note(NULL, tag, 0);
}

static void stop(const char *name)
{
	char line[16];

	if (!interactive)
		return;
	printf("stop %s\n", name);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin))
		exit(3);
}

/* ---- nesting ---- */

static void nest(void)
{
	void *outer, *inner, *again;

	errno = 77;
	push("outer");
	outer = take("outer", 100);
	push("inner");
	inner = take("inner", 110);
	push("outer"); /* a tag within itself */
	again = take("outer", 120);
	shiny_tag_pop();
	inner = take_more("inner", "inner", inner, 1300);
	outer = take_more("inner", "outer", outer, 1400); /* realloc's tag is its caller's */
	shiny_tag_pop();
	give("outer", again); /* wherever it is freed */
	take("outer", 130);
	shiny_tag_pop();
	take("(no tag)", 140);
	give("inner", inner);
	give("inner", outer);
	if (errno != 77)
		printf("errno is %d\n", errno);
}

/* ---- limits ---- */

static void go_wrong(void)
{
	char long_name[200], name[32];

	shiny_tag_pop(); /* nothing was pushed */
	refused++;
	push("around");
	shiny_tag_push(NULL);
	take("around", 200);
	shiny_tag_pop();
	shiny_tag_push("");
	take("around", 210);
	shiny_tag_pop();
	refused += 2;
	memset(long_name, 'x', sizeof long_name - 1);
	long_name[199] = 0;
	memcpy(long_name + 62, "\xe2\x82\xac", 3); /* the 64th byte is within a character */
	shiny_tag_push(long_name);
	long_name[62] = 0;
	have_name(long_name);
	take(long_name, 220);
	shiny_tag_pop();
	refused++;
	shiny_mark(NULL);
	refused++;
	for (unsigned i = 1; i < DEPTH + 5; i++) {
		snprintf(name, sizeof name, "depth %u", i < DEPTH ? i : DEPTH - 1);
		if (i < DEPTH)
			push(name);
		else
			shiny_tag_push("too deep");
		take(name, 230);
		refused += i >= DEPTH;
	}
	for (unsigned i = DEPTH + 4; i >= 1; i--) {
		snprintf(name, sizeof name, "depth %u", i < DEPTH ? i : DEPTH - 1);
		take(name, 240);
		shiny_tag_pop();
	}
	take("around", 250);
	shiny_tag_pop();
	take("(no tag)", 260);
}

/* Until there is no room for more. */
static void use_up_names(void)
{
	char name[32];

	push("around");
	for (unsigned i = 0, over = 0; over < 20; i++) {
		int known;

		snprintf(name, sizeof name, "name %u", i);
		known = have_name(name);
		shiny_tag_push(name);
		take(known ? name : "around", 300);
		shiny_tag_pop();
		over += !known;
		refused += !known;
	}
	shiny_tag_pop();
}

/* ---- threads ---- */

static void *grandchild(void *argument)
{
	(void)argument;
	take("in thread", 400);
	return NULL;
}

static void *heir(void *argument)
{
	pthread_t thread;

	(void)argument;
	take("creator", 410);
	push("in thread");
	take("in thread", 420);
	pthread_create(&thread, NULL, grandchild, NULL);
	pthread_join(thread, NULL);
	shiny_tag_pop();
	take("creator", 430);
	shiny_tag_pop(); /* what was inherited can't be popped */
	take("creator", 440);
	return argument;
}

static void *stranger(void *argument)
{
	take("(no tag)", 450);
	push("never popped");
	take("never popped", 460);
	return argument;
}

static void make_threads(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, stranger, NULL);
	pthread_join(thread, NULL);
	push("creator");
	pthread_create(&thread, NULL, heir, NULL);
	push("not the creator's any more"); /* before or after it has started */
	pthread_join(thread, NULL);
	refused++;
	shiny_tag_pop();
	shiny_tag_pop();
}

/* Much at once: every block of thread i has the tag i, or i's inner one. */
static void *work(void *argument)
{
	unsigned number = *(unsigned *)argument;
	char tag[32], inner[32];
	void *held = NULL;

	snprintf(tag, sizeof tag, "worker %u", number);
	snprintf(inner, sizeof inner, "inner %u", number);
	push(tag);
	for (unsigned i = 0; i < ROUNDS; i++) {
		void *block = take(tag, 500 + number);

		push(inner);
		if (held)
			give(inner, held);
		held = take(inner, 600 + number);
		shiny_tag_pop();
		give(tag, block);
	}
	shiny_tag_pop();
	take("(no tag)", 700);
	return NULL;
}

static void work_hard(void)
{
	pthread_t threads[THREADS];
	unsigned numbers[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		numbers[i] = i;
		pthread_create(&threads[i], NULL, work, &numbers[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
}

/* ---- signals ---- */

static volatile unsigned ticks;

static void on_alarm(int number)
{
	(void)number;
	shiny_tag_push("handler"); /* no lock here */
	shiny_tag_push("handler's inner");
	shiny_tag_pop();
	shiny_tag_pop();
	ticks++;
}

static void on_user(int number)
{
	(void)number;
	shiny_tag_push("handler");
	take("handler", 800);
	shiny_tag_pop();
	take("interrupted", 810);
}

static void be_interrupted(void)
{
	struct sigaction alarm = { .sa_handler = on_alarm, .sa_flags = SA_RESTART },
			 user = { .sa_handler = on_user };
	struct itimerval often = { { 0, 200 }, { 0, 200 } }, never = { { 0, 0 }, { 0, 0 } };

	sigaction(SIGALRM, &alarm, NULL);
	sigaction(SIGUSR1, &user, NULL);
	have_name("handler");
	have_name("handler's inner");
	push("interrupted");
	raise(SIGUSR1);
	take("interrupted", 820);
	setitimer(ITIMER_REAL, &often, NULL);
	for (unsigned i = 0; i < ROUNDS; i++) {
		push("between signals");
		give("between signals", take("between signals", 830));
		shiny_tag_pop();
		give("interrupted", take("interrupted", 840));
	}
	while (ticks < 20) { /* a busy machine sends few */
		push("between signals");
		free(malloc(850));
		shiny_tag_pop();
	}
	setitimer(ITIMER_REAL, &never, NULL);
	shiny_tag_pop();
}

/* ---- processes ---- */

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct book *)left)->tag, ((const struct book *)right)->tag);
}

static void print_books(const char *who)
{
	qsort(books, book_count, sizeof *books, by_name);
	for (unsigned i = 0; i < book_count; i++)
		printf("book %s\t%s\t%lu\t%lu\t%lu\t%lu\n", who, books[i].tag, books[i].allocs,
		       books[i].bytes, books[i].frees, books[i].inherited);
	fflush(stdout);
}

static void *child_thread(void *argument)
{
	take("in child", 945);
	return argument;
}

static void be_a_child(void *freed)
{
	pthread_t thread;

	for (unsigned i = 0; i < book_count; i++) {
		books[i].inherited += books[i].allocs - books[i].frees;
		books[i].allocs = books[i].bytes = books[i].frees = 0;
	}
	take("forker", 920);
	give("forker", freed);
	shiny_tag_pop();
	take("(no tag)", 930);
	push("in child");
	take("in child", 940);
	pthread_create(&thread, NULL, child_thread, NULL);
	pthread_join(thread, NULL);
	shiny_mark("child");
	print_books("child");
	_exit(0);
}

static void make_child(void)
{
	void *freed;
	int status = -1;

	push("forker");
	take("forker", 900);
	freed = take("forker", 910);
	fflush(stdout);
	if (fork() == 0)
		be_a_child(freed);
	wait(&status);
	take("forker", 950);
	shiny_tag_pop();
	if (status)
		printf("the child ended with %d\n", status);
}

int main(int argc, char **argv)
{
	unsigned long before, before_bytes;
	void *give_back;

	(void)argv;
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	interactive = argc > 1;
	take("(no tag)", 10);
	shiny_mark("begin");
	before = taken;
	before_bytes = taken_bytes;
	nest();
	shiny_mark("nested");
	printf("between begin\tnested\t%lu\t%lu\n", taken - before, taken_bytes - before_bytes);
	stop("outside");
	shiny_mark("again");
	before = taken;
	before_bytes = taken_bytes;
	go_wrong();
	shiny_mark("again");
	printf("between again\tagain\t%lu\t%lu\n", taken - before, taken_bytes - before_bytes);
	stop("off");
	push("while off");
	give_back = malloc(50);
	stop("on");
	take("while off", 960);
	shiny_tag_pop();
	take("(no tag)", 970);
	free(give_back);
	make_threads();
	make_child();
	work_hard();
	be_interrupted();
	use_up_names();
	print_books("parent");
	printf("refused %u\n", refused);
	return 0;
}
