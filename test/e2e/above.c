/* SPDX-License-Identifier: Apache-2.0 */
/*
 * above.c: blocks of two functions without names in a program that exports the others, as
 * `-rdynamic` and strip leave it: each call site is named after the exported function that called
 * it, the exported allocation function in between passed over. One exported function only jumps
 * on; a thread has one block. Prints "caller blocks bytes", one line a call site.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define KEEP __attribute__((noinline))

struct node {
	struct node *next;
	char text[40];
};
static struct node *head;
static unsigned made[5];

/* has no name in the stripped file */
KEEP static struct node *make(size_t bytes)
{
	struct node *node = malloc(bytes);

	node->next = head;
	head = node;
	return node;
}

KEEP void *pool_alloc(size_t bytes)
{
	struct node *node = make(bytes);

	node->text[0] = 1; /* no wrapper: it writes into the block */
	return node->text;
}

KEEP void load_settings(void)
{
	for (int i = 0; i < 10; i++, made[0]++)
		((char *)pool_alloc(sizeof(struct node)))[1] = 2;
}

KEEP void answer_request(void)
{
	for (int i = 0; i < 100; i++, made[1]++)
		((char *)pool_alloc(sizeof(struct node)))[1] = 3;
}

/* has no name either: the one above it has */
KEEP static void read_line(void)
{
	make(sizeof(struct node) + 8)->text[1] = 4;
	made[2]++;
}

KEEP void read_input(void)
{
	for (int i = 0; i < 7; i++)
		read_line();
}

/* in no stack: it jumps to a function without a name */
void jump_on(void);
__asm__(".pushsection .text\n.globl jump_on\n.type jump_on, @function\n"
	"jump_on: jmp jumped\n.size jump_on, . - jump_on\n.popsection");

KEEP __attribute__((used)) static void jumped(void)
{
	make(sizeof(struct node) + 16)->text[1] = 5;
	made[4]++;
}

static void *run_thread(void *unused)
{
	make(sizeof(struct node) + 24);
	return unused;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_thread, NULL) || pthread_join(thread, NULL))
		return 1;
	for (int i = 0; i < 5; i++)
		jump_on();
	load_settings();
	answer_request();
	read_input();
	printf("load_settings %u %zu\n", made[0], made[0] * sizeof(struct node));
	printf("answer_request %u %zu\n", made[1], made[1] * sizeof(struct node));
	printf("jump_on %u %zu\n", made[4], made[4] * (sizeof(struct node) + 16));
	printf("read_input %u %zu\n", made[2], made[2] * (sizeof(struct node) + 8));
	return 0;
}
