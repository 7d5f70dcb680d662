// SPDX-License-Identifier: Apache-2.0
// build: -std=gnu++17
/*
 * stable: eight threads that do the same jobs, each in an order of its own that no two runs share,
 * and free each other's blocks. What a call site makes is always the same; everything else
 * (addresses, who is first, what follows what) is chance.
 *
 * Prints how many jobs were done.
 */
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

struct point { double x, y; };
struct shape {
	virtual ~shape() {}
	virtual double area() const { return 0; }
};
struct circle : shape { double r = 1; double area() const override { return 3 * r * r; } };
struct square : shape { double a[4] = {}; double area() const override { return a[0] * a[0]; } };
struct tagged { long tag = 7; virtual ~tagged() {} };
struct both : tagged, circle { int more[5] = {}; };
template <typename T> struct holder : shape { T held; };
struct list_node { list_node *next; int value; };

// what waits for whoever comes along
static std::mutex guard;
static std::vector<std::function<void()>> trash;

static void later(std::function<void()> free_it)
{
	std::function<void()> mine;
	{
		std::lock_guard<std::mutex> hold(guard);
		trash.push_back(std::move(free_it));
		if (trash.size() > 64) {
			std::swap(trash[std::random_device{}() % trash.size()], trash.back());
			mine = std::move(trash.back());
			trash.pop_back();
		}
	}
	if (mine)
		mine();
}
template <typename T> static void later_deleted(T *p) { later([p] { delete p; }); }
static void later_freed(void *p) { later([p] { free(p); }); }

__attribute__((noinline)) static void *wrapped(size_t size)
{
	void *p = malloc(size);
	if (!p)
		abort();
	return p;
}
template <typename C> static void filled(int n)
{
	auto *c = new C;
	for (int i = 0; i < n; i++)
		c->insert(c->end(), typename C::value_type());
	later_deleted(c);
}

static void (*const jobs[])() = {
	[] {
		later_deleted(new point{ 1, 2 });
	},
	[] { later_deleted<shape>(new circle); },
	[] { later_deleted<shape>(new square); },
	[] { later_deleted<tagged>(new both); },
	[] { later_deleted<shape>(new holder<point>); },
	[] { later_deleted<shape>(new holder<std::string>); },
	[] {
		shape *s = new square;
		delete s;
	},
	[] {
		shape *s = new circle;
		delete s;
	},
	[] { later_freed(static_cast<list_node *>(malloc(sizeof(list_node)))); },
	[] { later_freed(static_cast<point *>(calloc(4, sizeof(point)))); },
	[] { later_freed(static_cast<list_node *>(wrapped(sizeof(list_node)))); },
	[] { later_freed(static_cast<point *>(wrapped(sizeof(point)))); },
	[] { later_freed(strdup("some text")); },
	[] {
		auto *p = static_cast<int *>(malloc(40));
		p = static_cast<int *>(realloc(p, 4000));
		later_freed(p);
	},
	[] {
		circle *c = new circle[5];
		later([c] { delete[] c; });
	},
	[] {
		double *d = new double[9];
		later([d] { delete[] d; });
	},
	[] {
		auto p = std::make_shared<square>();
		later([p] {});
	},
	[] {
		auto *p = std::make_unique<both>().release();
		later_deleted(p);
	},
	[] { filled<std::vector<point>>(9); },
	[] { filled<std::list<point>>(3); },
	[] { filled<std::deque<long>>(200); },
	[] { filled<std::set<int>>(1); },
	[] { filled<std::vector<std::string>>(3); },
	[] {
		auto *m = new std::map<int, circle>;
		(*m)[1];
		later_deleted(m);
	},
	[] {
		auto *m = new std::unordered_map<int, std::string>;
		(*m)[1] = std::string(60, 'x');
		later_deleted(m);
	},
	[] {
		auto *v = new std::vector<std::unique_ptr<shape>>;
		v->push_back(std::make_unique<circle>());
		later_deleted(v);
	},
};

int main()
{
	enum { THREADS = 8, ROUNDS = 40 };
	std::vector<std::thread> threads;
	std::atomic<long> done{0};

	for (int t = 0; t < THREADS; t++)
		threads.emplace_back([&done] {
			std::mt19937 dice(std::random_device{}());
			std::vector<size_t> order;
			for (size_t j = 0; j < sizeof jobs / sizeof *jobs; j++)
				order.insert(order.end(), ROUNDS, j);
			std::shuffle(order.begin(), order.end(), dice);
			for (size_t j : order) {
				jobs[j]();
				done++;
			}
		});
	for (auto &thread : threads)
		thread.join();
	printf("%ld jobs\n", done.load());
	return 0;
}
