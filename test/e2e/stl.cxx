// SPDX-License-Identifier: Apache-2.0
// Something large for a compiler to chew on: programs_test compiles it with and without Shiny. Not
// run.
#include <algorithm>
#include <any>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <complex>
#include <condition_variable>
#include <deque>
#include <filesystem>
#include <forward_list>
#include <fstream>
#include <functional>
#include <future>
#include <iomanip>
#include <iostream>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <queue>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <valarray>
#include <variant>
#include <vector>

using row = std::tuple<std::string, std::vector<int>, std::optional<double>>;
using value = std::variant<int, std::string, std::vector<row>, std::map<std::string, row>>;

std::map<std::string, value> rows(std::istream &in)
{
	std::map<std::string, value> result;
	std::regex words("([a-z]+)=([0-9]+)");
	for (std::string line; std::getline(in, line);) {
		std::smatch match;
		if (std::regex_match(line, match, words))
			result.emplace(match[1], std::stoi(match[2]));
		else
			result[line] = std::vector<row>{{line, {1, 2, 3}, 4.5}};
	}
	return result;
}

std::unordered_map<std::string, std::set<double>> spread(const std::map<std::string, value> &from)
{
	std::unordered_map<std::string, std::set<double>> result;
	std::mt19937 random(1);
	std::normal_distribution<> normal;
	for (const auto &entry : from)
		std::visit([&](const auto &) { result[entry.first].insert(normal(random)); },
			   entry.second);
	return result;
}

std::future<long> total(std::vector<std::string> paths)
{
	return std::async(std::launch::async, [paths = std::move(paths)] {
		std::vector<long> sizes;
		std::transform(paths.begin(), paths.end(), std::back_inserter(sizes),
			       [](const std::string &path) {
				       return static_cast<long>(std::filesystem::file_size(path));
			       });
		std::sort(sizes.begin(), sizes.end(), std::greater<>());
		std::priority_queue<long, std::deque<long>> queue(sizes.begin(), sizes.end());
		return std::accumulate(sizes.begin(), sizes.end(),
				       queue.empty() ? 0L : queue.top());
	});
}
