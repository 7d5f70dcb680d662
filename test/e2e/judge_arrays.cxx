// SPDX-License-Identifier: Apache-2.0
// Containers whose code checks for several sizes at once: a deque checks the count of its elements,
// then that of its map of pointers, which it doubles; a vector that grows makes room for what a
// vector in it holds, whose bytes have the same limit.
#include <cstdlib>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

template <int N> struct Of {
	char bytes[N];
};

static int count = std::getenv("HOME") ? 10 : 20;
static const void *volatile kept;

template <class T> [[gnu::noinline]] static void use()
{
	std::vector<T> grown, made(count);
	std::deque<T> queue;

	for (int i = 0; i < count; i++) {
		grown.push_back(T());
		queue.push_back(T());
	}
	grown.insert(grown.begin(), made.begin(), made.end());
	grown.reserve(count * 3);
	kept = grown.data();
	kept = made.data();
}

struct part {
	std::string text;
	long kind;
};
struct line {
	std::vector<part> parts;
};
[[gnu::noinline]] static void add(std::vector<line> &lines, const line &one)
{
	lines.push_back(one);
}

int main()
{
	std::vector<line> lines;

	for (int i = 0; i < count; i++)
		add(lines, line{ std::vector<part>(count) });
	std::vector<std::vector<int>> nested;
	std::unordered_map<int, std::string> named;

	use<Of<16>>();
	use<Of<24>>();
	use<Of<32>>();
	use<Of<48>>();
	use<Of<100>>();
	use<short>();
	use<int>();
	use<long>();
	use<std::string>();
	for (int i = 0; i < count; i++) {
		nested.push_back({1, 2, 3});
		named[i] = "text";
	}
}
