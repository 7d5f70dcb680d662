// SPDX-License-Identifier: Apache-2.0
/*
 * idioms_library: what the C++ library allocates: containers, strings, smart pointers, callables, threads.
 *
 * Runs: a test's target. See idioms.h for how the truth is told. A container that is kept is moved into memory that is never destroyed.
 */
#include "idioms_types.h"

#include <any>
#include <deque>
#include <forward_list>
#include <functional>
#include <future>
#include <list>
#include <map>
#include <optional>
#include <queue>
#include <regex>
#include <set>
#include <sstream>
#include <stack>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <variant>

#if __has_include(<memory_resource>)
#include <memory_resource>
#endif

#define STRING "std::basic_string<char, std::char_traits<char>, std::allocator<char>>"

static const char long_text[] = "a text that is far too long for the small buffer inside a string object";

/* The library's own node types are the truth about their sizes: one<T>() of a type that exists only in one library is not compiled. */
#ifdef _LIBCPP_VERSION
#define TREE(value, libcpp) "std::__tree_node<" libcpp ", void*>", 0
#define HASH(value, cached, libcpp) "std::__hash_node<" libcpp ", void*>", 0
#define BUCKETS "~^std::__hash_node_base<", sizeof(void *)
#define LIST(value) "std::__list_node<" value ", void*>", 0
#define FORWARD(value) "std::__forward_list_node<" value ", void*>", 0
#define SHARED(value) "~^std::__shared_ptr_emplace<" value ",", 0
#define CONTROL(value) "~^std::__shared_ptr_pointer<" value, 0
#else
#define TREE(value, libcpp) "std::_Rb_tree_node<" value ">", 0
#define HASH(value, cached, libcpp) "std::__detail::_Hash_node<" value ", " cached ">", 0
#define BUCKETS "std::__detail::_Hash_node_base*", sizeof(void *)
#define LIST(value) "std::_List_node<" value ">", 0
#define FORWARD(value) "std::_Fwd_list_node<" value ">", 0
#define SHARED(value) "~^std::_Sp_counted_ptr_inplace<" value ", std::allocator<(void|" value ")>, .*>$", 0
#define CONTROL(value) "~^std::_Sp_counted_(ptr|deleter)<" value ".*>$", 0
#endif

// ---- sequences ----
IDIOM(vector_int_push)
{
	idiom_begin();
	std::vector<int> v;
	for (int i = 0; i < 20; i++)
		v.push_back(i);
	idiom_end();
	many("int", sizeof(int));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(vector_pod_reserve)
{
	idiom_begin();
	std::vector<Pod> v;
	v.reserve(unknown((size_t)10));
	idiom_end();
	one("Pod", 10 * sizeof(Pod));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(vector_string_emplace)
{
	idiom_begin();
	std::vector<std::string> v;
	for (int i = 0; i < 5; i++)
		v.emplace_back("short");
	idiom_end();
	many(STRING, sizeof(std::string));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(vector_poly_value)
{
	idiom_begin();
	std::vector<Cat> v;
	v.emplace_back();
	v.emplace_back();
	idiom_end();
	many("Cat", sizeof(Cat));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(vector_unique_ptr)
{
	idiom_begin();
	std::vector<std::unique_ptr<Pod>> v;
	for (int i = 0; i < 3; i++)
		v.push_back(nullptr);
	idiom_end();
	many("std::unique_ptr<Pod, std::default_delete<Pod>>", sizeof(void *));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(vector_ctor_n)
{
	idiom_begin();
	std::vector<Twin> v(unknown((size_t)6));
	std::vector<double> w(unknown((size_t)31), 1.5);
	idiom_end();
	one("Twin", 6 * sizeof(Twin));
	one("double", 31 * sizeof(double));
	escape(v.data());
	escape(w.data());
	keep_or_drop(keep, v);
	keep_or_drop(keep, w);
}
IDIOM(vector_copy_and_list)
{
	static const int numbers[] = { 1, 2, 3, 4, 5 };
	idiom_begin();
	std::vector<int> v = { 1, 2, 3 };
	std::vector<int> w(v);
	std::vector<short> x(numbers, numbers + 5);
	x.insert(x.begin(), 40, 3);
	w.resize(unknown((size_t)100));
	w.shrink_to_fit();
	idiom_end();
	one("short", 5 * sizeof(short));
	one("short", 45 * sizeof(short));
	many("int", sizeof(int));
	escape(v.data());
	escape(w.data());
	escape(x.data());
	keep_or_drop(keep, v);
	keep_or_drop(keep, w);
	keep_or_drop(keep, x);
}
IDIOM(vector_of_vectors)
{
	idiom_begin();
	std::vector<std::vector<int>> v(unknown((size_t)3));
	v[1].push_back(4);
	idiom_end();
	one("std::vector<int, std::allocator<int>>", 3 * sizeof(std::vector<int>));
	one("int", sizeof(int));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(vector_pointers)
{
	Pod pod;
	idiom_begin();
	std::vector<Pod *> v;
	std::vector<Twin *> w; /* a linker may fold the two */
	for (int i = 0; i < 3; i++) {
		v.push_back(&pod);
		w.push_back(nullptr);
	}
	idiom_end();
	for (size_t n = 1; n <= 4; n *= 2) {
		one("Pod*", n * sizeof(Pod *));
		one("Twin*", n * sizeof(Twin *));
	}
	escape(v.data());
	escape(w.data());
	keep_or_drop(keep, v);
	keep_or_drop(keep, w);
}
IDIOM(vector_bool)
{
	idiom_begin();
	std::vector<bool> v(unknown((size_t)100));
	v.resize(unknown((size_t)1000));
	idiom_end();
	many("unsigned long", sizeof(unsigned long));
	escape(&v);
	keep_or_drop(keep, v);
}
IDIOM(deque)
{
	idiom_begin();
	std::deque<int> d;
	for (int i = 0; i < 300; i++)
		d.push_back(i);
	idiom_end();
#ifdef _LIBCPP_VERSION
	many("int|int*", sizeof(int));
#else
	one("int*", 8 * sizeof(int *));
	many("int", 512);
#endif
	escape(&d);
	keep_or_drop(keep, d);
}
IDIOM(list_push)
{
	idiom_begin();
	std::list<Pod> l;
	l.push_back(Pod());
	l.emplace_front();
	idiom_end();
	many(LIST("Pod"));
	escape(&l);
	keep_or_drop(keep, l);
}
IDIOM(forward_list_push)
{
	idiom_begin();
	std::forward_list<long> l;
	l.push_front(3);
	l.emplace_front(4);
	idiom_end();
	many(FORWARD("long"));
	escape(&l);
	keep_or_drop(keep, l);
}
IDIOM(priority_queue)
{
	idiom_begin();
	std::priority_queue<double> q;
	for (int i = 0; i < 9; i++)
		q.push(i);
	idiom_end();
	many("double", sizeof(double));
	escape(&q);
	keep_or_drop(keep, q);
}

// ---- maps and sets ----
IDIOM(map_insert)
{
	idiom_begin();
	std::map<int, Pod> m;
	m[3] = Pod();
	m.insert({ 4, Pod() });
	m.emplace(5, Pod());
	idiom_end();
	many(TREE("std::pair<const int, Pod>", "std::__value_type<int, Pod>"));
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(map_string_key)
{
	idiom_begin();
	std::map<std::string, int> m;
	m["short"] = 3;
	m.try_emplace("other", 4);
	idiom_end();
	many(TREE("std::pair<const " STRING ", int>", "std::__value_type<" STRING ", int>"));
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(multimap_insert)
{
	idiom_begin();
	std::multimap<short, double> m;
	m.insert({ 1, 2.0 });
	m.emplace(1, 3.0);
	idiom_end();
	many(TREE("std::pair<const short, double>", "std::__value_type<short, double>"));
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(map_copy)
{
	std::map<long, char> m = { { 1, 'a' }, { 2, 'b' }, { 3, 'c' } };
	idiom_begin();
	std::map<long, char> n(m);
	idiom_end();
	many(TREE("std::pair<const long, char>", "std::__value_type<long, char>"));
	escape(&n);
	keep_or_drop(keep, n);
}
IDIOM(set_insert)
{
	idiom_begin();
	std::set<int> s;
	s.insert(3);
	s.emplace(4);
	std::multiset<char> t;
	t.insert('x');
	idiom_end();
#ifdef _LIBCPP_VERSION
	many("~^std::__tree_node<(int|char), void\\*>$", 0);
#else
	one("std::_Rb_tree_node<int>", sizeof(std::_Rb_tree_node<int>));
	one("std::_Rb_tree_node<int>", sizeof(std::_Rb_tree_node<int>));
	one("std::_Rb_tree_node<char>", sizeof(std::_Rb_tree_node<char>));
#endif
	escape(&s);
	escape(&t);
	keep_or_drop(keep, s);
	keep_or_drop(keep, t);
}
IDIOM(unordered_map_node)
{
	std::unordered_map<int, double> m;
	m.reserve(50);
	idiom_begin();
	m[3] = 4;
	m.emplace(4, 5);
	m.insert({ 5, 6 });
	idiom_end();
	many(HASH("std::pair<const int, double>", "false", "std::__hash_value_type<int, double>"));
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(unordered_map_buckets)
{
	std::unordered_map<int, int> m;
	idiom_begin();
	m.reserve(unknown((size_t)60));
	m.rehash(unknown((size_t)200));
	idiom_end();
	many(BUCKETS);
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(unordered_map_string)
{
	std::unordered_map<std::string, Pod> m;
	m.reserve(50);
	idiom_begin();
	m["short"] = Pod();
	m.try_emplace("other", Pod());
	idiom_end();
	many(HASH("std::pair<const " STRING ", Pod>", "true", "std::__hash_value_type<" STRING ", Pod>"));
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(unordered_set_insert)
{
	std::unordered_set<long> s;
	s.reserve(50);
	std::unordered_multimap<char, int> m;
	m.reserve(50);
	idiom_begin();
	s.insert(4);
	idiom_end();
	many(HASH("long", "false", "long"));
	escape(&s);
	keep_or_drop(keep, s);
	escape(&m);
}
template <class T> struct OwnAllocator {
	using value_type = T;
	OwnAllocator() = default;
	template <class U> OwnAllocator(const OwnAllocator<U> &) {}
	T *allocate(size_t n) { return static_cast<T *>(malloc(n * sizeof(T))); }
	void deallocate(T *p, size_t) { free(p); }
	template <class U> bool operator==(const OwnAllocator<U> &) const { return true; }
	template <class U> bool operator!=(const OwnAllocator<U> &) const { return false; }
};
IDIOM(custom_allocator_map)
{
	idiom_begin();
	std::map<int, long, std::less<int>, OwnAllocator<std::pair<const int, long>>> m;
	m[3] = 4;
	m[5] = 6;
	idiom_end();
	many(TREE("std::pair<const int, long>", "std::__value_type<int, long>"));
	escape(&m);
	keep_or_drop(keep, m);
}
IDIOM(custom_allocator_vector)
{
	idiom_begin();
	std::vector<Twin, OwnAllocator<Twin>> v;
	v.resize(unknown((size_t)5));
	idiom_end();
	one("Twin", 5 * sizeof(Twin));
	escape(v.data());
	keep_or_drop(keep, v);
}
#ifdef __cpp_lib_memory_resource
IDIOM(pmr_vector)
{
	idiom_begin();
	std::vector<Pod, std::pmr::polymorphic_allocator<Pod>> v{ std::pmr::new_delete_resource() };
	v.resize(unknown((size_t)5));
	idiom_end();
	one("Pod", 5 * sizeof(Pod));
	escape(v.data());
	keep_or_drop(keep, v);
}
IDIOM(pmr_monotonic)
{
	/* the resource's chunks hold whatever the vector is made of */
	idiom_begin();
	{
		std::pmr::monotonic_buffer_resource resource(1000);
		std::pmr::vector<int> v(&resource);
		v.resize(unknown((size_t)50));
		escape(v.data());
	}
	idiom_end();
	many("-", 0);
}
#endif

// ---- text ----
IDIOM(string_growth)
{
	idiom_begin();
	std::string s;
	for (int i = 0; i < 100; i++)
		s.push_back('x');
	s.append(unknown((size_t)300), 'y');
	s += long_text;
	s.reserve(unknown((size_t)2000));
	s.insert(3, 1500, 'z');
	s.resize(unknown((size_t)5000));
	idiom_end();
	many("char", 1);
	escape(s.data());
	keep_or_drop(keep, s);
}
IDIOM(string_from_text)
{
	idiom_begin();
	std::string a(long_text), b(a), c = a + b, d(unknown((size_t)70), 'x'), e(a.begin(), a.end()), f = a.substr(3), g;
	g = a;
	g.assign(long_text).append(b);
	idiom_end();
	many("char", 1);
	escape(&a);
	escape(&b);
	escape(&c);
	escape(&d);
	escape(&e);
	escape(&f);
	escape(&g);
	keep_or_drop(keep, a);
	keep_or_drop(keep, c);
	keep_or_drop(keep, g);
}
IDIOM(string_wide)
{
	idiom_begin();
	std::wstring w(unknown((size_t)50), L'x');
	w += L"more";
	w.append(unknown((size_t)100), L'y');
	idiom_end();
	many("wchar_t", sizeof(wchar_t));
	escape(&w);
	keep_or_drop(keep, w);
}
IDIOM(string_utf16)
{
	idiom_begin();
	std::u16string u(unknown((size_t)90), u'x');
	u += u'y';
	idiom_end();
	many("char16_t", sizeof(char16_t));
	escape(&u);
	keep_or_drop(keep, u);
}
IDIOM(string_to_string)
{
	idiom_begin();
	std::string s = std::to_string(unknown(1234567890123456789ul)) + std::to_string(unknown(9876543210987654321ul));
	idiom_end();
	many("char", 1);
	escape(&s);
	keep_or_drop(keep, s);
}
IDIOM(stringstream_buffer)
{
	std::ostringstream stream;
	idiom_begin();
	for (int i = 0; i < 40; i++)
		stream << long_text;
	std::string s = stream.str();
	idiom_end();
	many("char", 1);
	escape(&s);
	keep_or_drop(keep, s);
}

// ---- smart pointers ----
IDIOM(make_unique_poly)
{
	idiom_begin();
	std::unique_ptr<Animal> p = std::make_unique<Cat>();
	idiom_end();
	one("Cat", sizeof(Cat));
	keep_or_drop(keep, p);
}
IDIOM(make_unique_pod)
{
	idiom_begin();
	auto p = std::make_unique<Pod>();
	auto q = std::make_unique<Inlined>(unknown(3));
	idiom_end();
	one("Pod", sizeof(Pod));
	one("Inlined", sizeof(Inlined));
	escape(p.get());
	escape(q.get());
	keep_or_drop(keep, p);
	keep_or_drop(keep, q);
}
IDIOM(make_unique_array)
{
	idiom_begin();
	auto p = std::make_unique<Twin[]>(unknown((size_t)5));
	auto q = std::make_unique<int[]>(unknown((size_t)50));
	auto r = std::make_unique<Owner[]>(unknown((size_t)5));
	idiom_end();
	one("Twin", 5 * sizeof(Twin));
	one("int", 50 * sizeof(int));
	one("Owner", 5 * sizeof(Owner) + 8);
	escape(p.get());
	escape(q.get());
	keep_or_drop(keep, p);
	keep_or_drop(keep, q);
	keep_or_drop(keep, r);
}
IDIOM(unique_ptr_new)
{
	idiom_begin();
	std::unique_ptr<Animal> p(new Puppy);
	std::unique_ptr<long[]> q(new long[unknown((size_t)33)]);
	p.reset(new Cat);
	idiom_end();
	one("Puppy", sizeof(Puppy));
	one("long", 33 * sizeof(long));
	one("Cat", sizeof(Cat));
	escape(q.get());
	keep_or_drop(keep, p);
	keep_or_drop(keep, q);
}
IDIOM(make_shared_poly)
{
	idiom_begin();
	std::shared_ptr<Animal> p = std::make_shared<Cat>();
	idiom_end();
	one(SHARED("Cat"));
	keep_or_drop(keep, p);
}
IDIOM(make_shared_pod)
{
	idiom_begin();
	auto p = std::make_shared<Pod>();
	std::weak_ptr<Pod> weak = p;
	auto q = std::make_shared<int>(unknown(3));
	idiom_end();
	one(SHARED("Pod"));
	one(SHARED("int"));
	escape(p.get());
	escape(q.get());
	keep_or_drop(keep, p);
	keep_or_drop(keep, q);
}
struct Shares : std::enable_shared_from_this<Shares> { long x[5]; };
IDIOM(enable_shared_from_this)
{
	idiom_begin();
	auto p = std::make_shared<Shares>();
	auto q = p->shared_from_this();
	idiom_end();
	one(SHARED("Shares"));
	keep_or_drop(keep, q);
}
IDIOM(allocate_shared)
{
	idiom_begin();
	auto p = std::allocate_shared<Pod>(OwnAllocator<Pod>());
	idiom_end();
#ifdef _LIBCPP_VERSION
	one(SHARED("Pod"));
#else
	one("~^std::_Sp_counted_ptr_inplace<Pod, OwnAllocator<Pod>, .*>$", 0);
#endif
	escape(p.get());
	keep_or_drop(keep, p);
}
IDIOM(shared_ptr_new)
{
	idiom_begin();
	std::shared_ptr<Animal> p(new Puppy);
	idiom_end();
	one("Puppy", sizeof(Puppy));
	one(CONTROL("Puppy\\*"));
	keep_or_drop(keep, p);
}
struct Deleter { void operator()(Pod *pod) const { delete pod; } long room = 3; };
IDIOM(shared_ptr_deleter)
{
	idiom_begin();
	std::shared_ptr<Pod> p(new Pod, Deleter());
	idiom_end();
	one("Pod", sizeof(Pod));
	one(CONTROL("Pod\\*, Deleter"));
	escape(p.get());
	keep_or_drop(keep, p);
}

// ---- values of any type, callables ----
struct BigFunctor { long state[8]; void operator()() const { escape(this); } };
IDIOM(function_functor)
{
	BigFunctor functor = { { unknown(1L) } };
	idiom_begin();
	std::function<void()> f = functor;
	std::function<void()> g = f;
	idiom_end();
#ifdef _LIBCPP_VERSION
	many("~BigFunctor", 0);
#else
	many("BigFunctor", sizeof(BigFunctor));
#endif
	escape(&f);
	keep_or_drop(keep, f);
}
IDIOM(function_lambda)
{
	long a = unknown(1L), b = unknown(2L), c = unknown(3L), d = unknown(4L);
	idiom_begin();
	std::function<long()> f = [a, b, c, d] { return a + b + c + d; };
	idiom_end();
	one("~lambda|\\$_|unnamed|anonymous class", 0);
	escape(&f);
	keep_or_drop(keep, f);
}
IDIOM(function_bind)
{
	idiom_begin();
	std::function<void()> f = std::bind([](long x, std::string) { escape(x); }, unknown(3L), std::string("short"));
	idiom_end();
	one("~^std::(_Bind|__bind)|__function::__func", 0);
	escape(&f);
	keep_or_drop(keep, f);
}
IDIOM(any_big)
{
	idiom_begin();
	std::any a = Pod();
	std::any b = a;
	idiom_end();
	many("Pod", sizeof(Pod));
	escape(&a);
	keep_or_drop(keep, a);
}
#define MADE(name, type_text, type) \
	IDIOM(name) \
	{ \
		idiom_begin(); \
		type *p = new type; \
		idiom_end(); \
		one(type_text, sizeof(type)); \
		escape(p); \
		if (keep) \
			leak(p); \
		else \
			delete p; \
	}
using PodOrTwin = std::variant<Pod, Twin>;
using Three = std::tuple<int, double, long>;
using Two = std::pair<int, Pod>;
using Map = std::map<int, int>;
MADE(new_optional, "std::optional<Pod>", std::optional<Pod>)
MADE(new_variant, "std::variant<Pod, Twin>", PodOrTwin)
MADE(new_tuple, "std::tuple<int, double, long>", Three)
MADE(new_pair, "std::pair<int, Pod>", Two)
MADE(new_std_map, "std::map<int, int, std::less<int>, std::allocator<std::pair<const int, int>>>", Map)
#ifndef _LIBCPP_VERSION
MADE(new_std_deque_stack, "std::list<int, std::allocator<int>>", std::list<int>)
#endif

// ---- threads ----
IDIOM(thread_state)
{
	idiom_begin();
	std::thread t([](int x) { escape(x); }, unknown(3));
	idiom_end();
#ifdef _LIBCPP_VERSION
	many("~^std::__thread_struct|^std::tuple|-", 0);
#else
	many("~^std::thread::_State_impl<|-", 0); /* and ld.so's block for the thread's variables */
#endif
	t.join();
}
IDIOM(promise)
{
	idiom_begin();
	std::promise<int> p;
	auto f = p.get_future();
	p.set_value(3);
	idiom_end();
#ifdef _LIBCPP_VERSION
	many("~^std::__assoc_state<int>", 0);
#else
	one("~^std::_Sp_counted_ptr_inplace<std::__future_base::_State_baseV2, std::allocator<(void|std::__future_base::_State_baseV2)>, .*>$", 0);
	one("std::__future_base::_Result<int>", sizeof(std::__future_base::_Result<int>));
#endif
	keep_or_drop(keep, f);
}
IDIOM(async_deferred)
{
	idiom_begin();
	std::future<int> f = std::async(std::launch::deferred, [](int x) { return x + 1; }, unknown(3));
	idiom_end();
#ifndef _LIBCPP_VERSION
	one("~^std::__future_base::_Result<int>$|^std::_Sp_counted_ptr_inplace<std::__future_base::_Deferred_state<", 0);
	one("~^std::__future_base::_Result<int>$|^std::_Sp_counted_ptr_inplace<std::__future_base::_Deferred_state<", 0);
#else
	many("~^std::__deferred_assoc_state<", 0);
#endif
	escape(f.get());
}
IDIOM(regex)
{
	/* many parts; that they are the library's own, or buffers of plain elements, is all that is said */
	idiom_begin();
	{
		std::regex r("a+(b|c)*[d-f]");
		escape(&r);
	}
	idiom_end();
	many("~^std::|^(unsigned )?(char|long|int)\\b|^bool$|lambda|-", 0);
}
