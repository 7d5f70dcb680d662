// SPDX-License-Identifier: Apache-2.0
// The program that the documentation records: a shop that takes orders for 20 days, or for as many as its argument says.
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <unistd.h>
#include <vector>

struct Customer {
	std::string name;
	char address[600] = {};
	[[gnu::noinline]] explicit Customer(int id) : name("customer number " + std::to_string(id)) {}
};

struct Order {
	virtual ~Order() {}
	int number = 0;
	std::vector<int> articles;
};
struct GiftOrder : Order {
	std::string card;
};

struct Receipt {
	int number;
	char text[500] = {};
	[[gnu::noinline]] explicit Receipt(int of) : number(of) {}
};
struct Draft { char text[3500]; };

// Customers are kept on purpose: this is the largest part of the heap, and no leak.
static auto &customers = *new std::map<int, std::unique_ptr<Customer>>;
static std::vector<Receipt *> to_print;
static std::vector<std::unique_ptr<Draft>> drafts;

[[gnu::noinline]] static Customer *customer(int id)
{
	std::unique_ptr<Customer> &found = customers[id];
	if (!found) found.reset(new Customer(id));
	return found.get();
}

// The leak: a receipt that was printed is forgotten, and nobody deletes it. Drafts lie between the receipts until the end: when they have been
// given back, each page of theirs is kept by a receipt.
[[gnu::noinline]] static void print_receipt(const Order &order)
{
	Receipt *receipt = new Receipt(order.number);
	snprintf(receipt->text, sizeof(receipt->text), "order %d, %zu articles", order.number, order.articles.size());
	to_print.push_back(receipt);
	if (to_print.size() == 100) to_print.clear();
	drafts.emplace_back(new Draft);
}

// Churn: strings that live for the length of one comparison.
[[gnu::noinline]] static bool is_known(const Order &order)
{
	std::string label = "order with the number " + std::to_string(order.number);
	return label.size() > 1000;
}

[[gnu::noinline]] static void take_order(int number)
{
	std::unique_ptr<Order> order(number % 4 ? new Order : new GiftOrder);
	order->number = number;
	for (int i = 0; i < 20; i++) order->articles.push_back(i); // grows five times: reserve(20) would do
	if (!is_known(*order)) customer(number % 500);
	if (number % 10 == 0) print_receipt(*order);
}

int main(int argc, char **argv)
{
	int days = argc > 1 ? atoi(argv[1]) : 20, number = 0;
	setbuf(stdout, nullptr); // whose stdout's buffer is depends on the C library's debug information
	for (int day = 0; day < days; day++) {
		for (int i = 0; i < 250; i++) take_order(number++);
		usleep(30000);
	}
	drafts.clear();
	printf("%d orders of %zu customers\n", number, customers.size());
}
