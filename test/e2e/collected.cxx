// SPDX-License-Identifier: Apache-2.0
// A heap with numbered types as Oilpan has them, in the shapes that Chromium's versions and
// compilers give it. It prints what the probe must
// find: `entry`, `header` and `type` lines, all addresses relative to the image. Compiled by
// probe_test in many ways:
//   -DSECTION        types are numbered by their place in gc_info_section; otherwise each registers itself at its first use
//   -DINDEX_SHIFT=2  of the index in its 16 bits (node's V8 has 2, Chromium 0)
//   -DINLINE         objects are made by code inlined at each site: there is no function to find
//   -DNOTHING        no such heap at all
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#ifndef INDEX_SHIFT
#define INDEX_SHIFT 0
#endif
#ifdef INLINE
#define ENTRY __attribute__((always_inline)) inline
#else
#define ENTRY __attribute__((noinline, used))
#endif

extern "C" const char __executable_start[];

namespace {

struct Name {
	const char *text;
	bool hidden;
};
enum class Asked : int { Always, OnlyIfNamed };
using Index = uint16_t;

struct GCInfo {
	void (*finalize)(void *);
	void (*trace)(void *, const void *);
	Name (*name)(const void *, Asked);
	size_t unused;
};

struct Space {
	void *heap;
	uint64_t statistics[3];
	char *free_at;
	size_t free_bytes;
};
struct Heap {
	void *owner;
	Space **spaces;
	size_t space_count;
};
struct Handle {
	Heap *heap;
};

struct Header {
	uint32_t padding;
	uint16_t high; // the index
	uint16_t low;  // size
};
static_assert(sizeof(Header) == 8);

__attribute__((noinline, cold)) void *allocate_slowly(Space &space, size_t bytes, size_t alignment,
						      Index index)
{
	size_t room = bytes + alignment + (1 << 16);
	char *memory = static_cast<char *>(aligned_alloc(1 << 12, (room + 4095) & ~size_t(4095)));

	if (!memory || index == 0)
		abort();
	// the first object of it is aligned, if its header is in front
	space.free_at = memory + alignment;
	if (alignment > 8)
		space.free_at = memory + alignment - sizeof(Header);
	space.free_bytes = (1 << 16) + bytes;
	Header *header = new (space.free_at)
		Header{ 0, Index(index << INDEX_SHIFT), uint16_t(bytes >> 2 & 0xfffe) };
	space.free_at += bytes;
	space.free_bytes -= bytes;
	return header + 1;
}

__attribute__((always_inline)) inline void *allocate_from(Space &space, size_t bytes, Index index)
{
	if (space.free_bytes < bytes)
		return allocate_slowly(space, bytes, 8, index);
	char *at = space.free_at;
	space.free_at = at + bytes;
	space.free_bytes -= bytes;
	Header *header = new (at) Header;
	header->padding = 0;
	header->low = uint16_t(bytes >> 2 & 0xfffe);
	header->high = Index(index << INDEX_SHIFT);
	return header + 1;
}

inline size_t rounded(size_t bytes)
{
	return (bytes + sizeof(Header) + 7) & ~size_t(7);
}

inline size_t space_for(size_t bytes)
{
	return bytes < 32 ? 0 : bytes < 64 ? 1 : bytes < 128 ? 2 : 3;
}

ENTRY void *allocate(Handle &handle, size_t bytes, Index index)
{
	size_t all = rounded(bytes);
	return allocate_from(*handle.heap->spaces[space_for(all)], all, index);
}

ENTRY void *allocate_in_space(Handle &handle, size_t bytes, Index index, size_t space)
{
	return allocate_from(*handle.heap->spaces[4 + space], rounded(bytes), index);
}

ENTRY void *allocate_aligned(Handle &handle, size_t bytes, size_t alignment, Index index)
{
	size_t all = rounded(bytes);
	Space &space = *handle.heap->spaces[space_for(all)];

	if (space.free_bytes < all ||
	    (reinterpret_cast<uintptr_t>(space.free_at) + sizeof(Header)) % 16)
		return allocate_slowly(space, all, alignment, index);
	return allocate_from(space, all, index);
}

__attribute__((unused)) void print(const char *what, const char *name, const void *address,
				   const char *more = "")
{
	printf("%s %s %#lx%s\n", what, name,
	       address ? (unsigned long)(static_cast<const char *>(address) - __executable_start)
		       : 0ul,
	       more);
}

#ifdef SECTION
// ---- types numbered by place ----
extern "C" GCInfo __start_gc_info_section[], __stop_gc_info_section[];

#define DECLARE_INFO(type, finalizer) __attribute__((section("gc_info_section"), used)) GCInfo info_##type{finalizer, &trace<type>, &name_of_##type, 0};
#define INFO_OF(type) &info_##type
inline Index index_of(const GCInfo *info)
{
	return Index((uint32_t(reinterpret_cast<uintptr_t>(info)) -
		      uint32_t(reinterpret_cast<uintptr_t>(__start_gc_info_section))) /
			     32 +
		     1);
}
#define INDEX_OF(type) index_of(&info_##type)
#else
// ---- types that register themselves ----
struct Table {
	size_t lock;
	void *pages;
	GCInfo *infos;
	Index used = 1, limit = 1 << 14;

	__attribute__((noinline, used)) Index add(std::atomic<Index> &slot, const GCInfo &info)
	{
		Index index = slot.load(std::memory_order_relaxed);

		if (index)
			return index;
		index = used++;
		if (index >= limit)
			abort();
		infos[index] = info;
		slot.store(index, std::memory_order_release);
		return index;
	}
};
Table *table;

using Finalizer = void (*)(void *);
using Trace = void (*)(void *, const void *);
using NameOf = Name (*)(const void *, Asked);
__attribute__((noinline, used)) Index ensure(std::atomic<Index> &slot, Trace trace,
					     Finalizer finalizer, NameOf name)
{
	return table->add(slot, GCInfo{finalizer, trace, name, 0});
}
__attribute__((noinline, used)) Index ensure(std::atomic<Index> &slot, Trace trace, NameOf name)
{
	return table->add(slot, GCInfo{nullptr, trace, name, 0});
}

template<class T> struct SlotOf {
	static std::atomic<Index> slot;
};
template<class T> std::atomic<Index> SlotOf<T>::slot{0};

#define DECLARE_INFO(type, finalizer) \
	inline Index index_of_##type() \
	{ \
		auto &slot = SlotOf<type>::slot; \
		Index index = slot.load(std::memory_order_acquire); \
		if (__builtin_expect(!index, 0)) \
			index = register_type<type>(slot, finalizer, &name_of_##type); \
		return index; \
	}
#define INFO_OF(type) &SlotOf<type>::slot
#define INDEX_OF(type) index_of_##type()
template<class T> inline Index register_type(std::atomic<Index> &slot, std::nullptr_t, NameOf name);
template <class T>
inline Index register_type(std::atomic<Index> &slot, Finalizer finalizer, NameOf name);
#endif

template<class T> __attribute__((noinline)) void trace(void *visitor, const void *object)
{
	*static_cast<const T **>(visitor) = static_cast<const T *>(object);
	static volatile int traced; // one of its own: identical functions would be folded
	traced = traced + sizeof(T);
}
template<class T> __attribute__((noinline)) void finalize(void *object)
{
	static_cast<T *>(object)->~T();
}
#ifndef SECTION
template<class T> inline Index register_type(std::atomic<Index> &slot, std::nullptr_t, NameOf name)
{
	return ensure(slot, &trace<T>, name);
}
template <class T>
inline Index register_type(std::atomic<Index> &slot, Finalizer finalizer, NameOf name)
{
	return ensure(slot, &trace<T>, finalizer, name);
}
#endif

volatile long destroyed;
Handle *handle;

// ---- the types ----
// plain ones, with their name in the callback; classes with a destructor; classes that are asked
// for their name
#define PLAIN(n) \
	struct Plain##n { \
		char bytes[16 + 8 * (n % 40)]; \
	}; \
	__attribute__((noinline)) Name name_of_Plain##n(const void *, Asked asked) \
	{ \
		return asked == Asked::OnlyIfNamed ? Name{"InternalNode", true} : Name{"tests::Plain<" #n ">", false}; \
	} \
	DECLARE_INFO(Plain##n, nullptr) \
	__attribute__((noinline)) Plain##n *make_Plain##n(int way) \
	{ \
		if (way == 1) \
			return new (allocate_in_space(*handle, sizeof(Plain##n), INDEX_OF(Plain##n), n % 3)) Plain##n; \
		if (way == 2) \
			return new (allocate_aligned(*handle, sizeof(Plain##n), 16, INDEX_OF(Plain##n))) Plain##n; \
		return new (allocate(*handle, sizeof(Plain##n), INDEX_OF(Plain##n))) Plain##n; \
	}
#define OWNER(n) \
	struct Owner##n { \
		long member[1 + n]; \
		~Owner##n() \
		{ \
			destroyed = destroyed + sizeof(member); \
		} \
	}; \
	__attribute__((noinline)) Name name_of_Owner##n(const void *, Asked asked) \
	{ \
		return asked == Asked::OnlyIfNamed ? Name{"InternalNode", true} : Name{"tests::Owner" #n, false}; \
	} \
	DECLARE_INFO(Owner##n, &finalize<Owner##n>) \
	__attribute__((noinline)) Owner##n *make_Owner##n(int extra) \
	{ \
		return new (allocate(*handle, sizeof(Owner##n) + (n % 2 ? extra : 0), INDEX_OF(Owner##n))) Owner##n; \
	}
#define ASKED(n) \
	struct Asked##n { \
		virtual ~Asked##n() { destroyed = destroyed + n + 1; } \
		virtual const char *name() const { return "tests::Asked" #n; } \
		long member[n]; \
	}; \
	__attribute__((noinline)) Name name_of_Asked##n(const void *object, Asked) \
	{ \
		return Name{static_cast<const Asked##n *>(object)->name(), false}; \
	} \
	DECLARE_INFO(Asked##n, &finalize<Asked##n>) \
	__attribute__((noinline)) Asked##n *make_Asked##n() \
	{ \
		return new (allocate(*handle, sizeof(Asked##n), INDEX_OF(Asked##n))) Asked##n; \
	}
#define TEN(X, t) X(t##0) X(t##1) X(t##2) X(t##3) X(t##4) X(t##5) X(t##6) X(t##7) X(t##8) X(t##9)
#define PLAINS(X) TEN(X, 1) TEN(X, 2) TEN(X, 3) TEN(X, 4) TEN(X, 5) TEN(X, 6)
#define OWNERS(X) TEN(X, 1) TEN(X, 2)
#define ASKEDS(X) X(1) X(2) X(3) X(4) X(5)

#ifndef NOTHING
PLAINS(PLAIN)
OWNERS(OWNER)
ASKEDS(ASKED)
#endif

} // namespace

int main(int argc, char **)
{
	Space spaces[8] = {};
	Space *pointers[8];
	Heap heap{nullptr, pointers, 8};
	Handle one{&heap};

	for (int i = 0; i < 8; i++)
		pointers[i] = &spaces[i];
	handle = &one;
#ifndef NOTHING
#ifndef SECTION
	Table all{};
	all.infos = static_cast<GCInfo *>(calloc(1 << 14, sizeof(GCInfo)));
	table = &all;
#endif
	unsigned long sum = 0;
	Header header;
	for (int way = 0; way < 3; way++) {
#define MAKE(n) sum += reinterpret_cast<uintptr_t>(make_Plain##n(way)) & 7;
		PLAINS(MAKE)
#undef MAKE
	}
#define MAKE(n) sum += reinterpret_cast<uintptr_t>(make_Owner##n(argc)) & 7;
	OWNERS(MAKE)
#undef MAKE
#define MAKE(n) sum += reinterpret_cast<uintptr_t>(make_Asked##n()) & 7;
	ASKEDS(MAKE)
#undef MAKE
#ifndef INLINE
	print("entry", "plain", reinterpret_cast<const void *>(&allocate), " size=rsi index=rdx");
	print("entry", "space", reinterpret_cast<const void *>(&allocate_in_space),
	      " size=rsi index=rdx space=rcx");
	print("entry", "aligned", reinterpret_cast<const void *>(&allocate_aligned),
	      " size=rsi index=rcx alignment=rdx");
#endif
	// where the header of a real object has its index
	Plain10 *object = make_Plain10(0);
	memcpy(&header, reinterpret_cast<const char *>(object) - sizeof header, sizeof header);
	printf("header at=%zu shift=%d\n", sizeof(Header) - offsetof(Header, high), INDEX_SHIFT);
	if (header.high >> INDEX_SHIFT != INDEX_OF(Plain10))
		abort();
#ifdef SECTION
#define NUMBER(type) int(INDEX_OF(type))
#else
#define NUMBER(type) 0
#endif
#define SAY(type, kind, fixed, finalizer) \
	printf("type %d %#lx %s %zu %d\n", NUMBER(type), (unsigned long)(reinterpret_cast<const char *>(INFO_OF(type)) - __executable_start), kind, \
	       fixed ? sizeof(type) : 0, finalizer);
#define PRINT(n) SAY(Plain##n, "tests::Plain<" #n ">", true, 0)
	PLAINS(PRINT)
#undef PRINT
#define PRINT(n) SAY(Owner##n, "tests::Owner" #n, n % 2 == 0, 1)
	OWNERS(PRINT)
#undef PRINT
#define PRINT(n) SAY(Asked##n, "tests::Asked" #n, true, 1)
	ASKEDS(PRINT)
	return sum ? 1 : 0;
#else
	return argc > 100;
#endif
}
