// SPDX-License-Identifier: Apache-2.0
// agent.cc: a small shop with a designed heap; prints the truth about it, a line each. With the
// argument "new" it forgets receipts.
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define APART __attribute__((noinline))

struct Customer {
	virtual ~Customer() {}
	char text[992] = {};
};
struct Order {
	virtual ~Order() {}
	char text[192] = {};
};
struct Scratch {
	virtual ~Scratch() {}
	char text[8184] = {};
};
struct Receipt {
	virtual ~Receipt() {}
	char text[392] = {};
};
enum { CUSTOMERS = 500, ORDERS = 100, SCRATCHES = 400, RECEIPTS = 250 };
enum { CHILDS = 2 << 20, REST_US = 2000 };

static std::vector<Customer *> customers;
static Receipt *volatile receipt;

static long now()
{
	return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

/* Returns the time for which the order lived, as seen from outside. */
APART static long take_order()
{
	long from = now();
	Order *order = new Order;

	usleep(REST_US);
	delete order;
	return now() - from;
}

APART static void take_orders()
{
	long most = 0;

	for (int i = 0; i < ORDERS; i++) {
		long life = take_order();

		most = life > most ? life : most;
	}
	printf("order_life %d %ld\n", REST_US * 1000, most);
	printf("orders %d %zu\n", ORDERS, ORDERS * sizeof(Order));
}

APART static void spike()
{
	std::vector<Scratch *> all(SCRATCHES);

	for (auto &one : all)
		one = new Scratch;
	for (auto one : all)
		delete one;
	printf("peak Scratch %d %zu\n", SCRATCHES, SCRATCHES * sizeof(Scratch));
	static_assert(SCRATCHES * sizeof(Scratch) > CHILDS, "the child is smaller");
	printf("largest %d\n", (int)getpid());
}

APART static void forget_receipts(int count)
{
	for (int i = 0; i < count; i++)
		receipt = new Receipt;
	printf("receipts Receipt %d %zu\n", count, count * sizeof(Receipt));
}

APART static void free_twice()
{
	void *volatile block = malloc(48);
	size_t *volatile words;

	free(block);
	words = (size_t *)block;
	words[1] = 0; /* the allocator's own mark against this */
	free(block);
}

APART static void child()
{
	char *volatile large = (char *)malloc(CHILDS);

	memset(large, 1, CHILDS);
	free_twice();
	printf("double 1\n");
	fflush(stdout);
	_exit(0);
}

int main(int argc, char **argv)
{
	pid_t pid;

	for (int i = 0; i < CUSTOMERS; i++)
		customers.push_back(new Customer);
	printf("customers Customer %d %zu\n", CUSTOMERS, CUSTOMERS * sizeof(Customer));
	take_orders();
	spike();
	forget_receipts(argc > 1 && strcmp(argv[1], "new") == 0 ? RECEIPTS : 0);
	fflush(stdout);
	pid = fork();
	if (!pid)
		child();
	waitpid(pid, nullptr, 0);
	return 0;
}
