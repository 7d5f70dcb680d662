// SPDX-License-Identifier: Apache-2.0
// A program with the entry points, the dispatch chain and the calling convention of one version of
// Chromium: partition_test builds it once for each. It allocates in every way there is, through
// exported functions and through the chain itself, keeps its own book of it (ledger.h) and prints
// that. What is below is a small allocator of its own. Written from Chromium's public headers, with
// other code.
//
//   -DROW=80|92|110|123|129|138|143|150|156|157   the version
//   -DWRONG=...   spoilt on purpose, must be left alone: 1 free goes through another chain; 2 a table of no version; 3 the head is const; 4 the table
//                 is handed over by some entries and not by others
//   -DOBSERVERS=1|2|3   with PartitionAllocHooks of that form (include/shiny/wire/observers.def), a partition of its own that calls them, and observers of
//                 its own, set later; 4: the third form, whose SetObserverHooks is inlined somewhere
//   -DATTACHED   the entries alone, for a program that attach_test attaches (attached.c)
#include <atomic>
#include <new>

#include <errno.h>
#include <pthread.h>
#include <stddef.h>

#include "ledger.h"

#define EXPORT extern "C" __attribute__((visibility("default"), noinline, used))
#define CXX_EXPORT __attribute__((visibility("default"), noinline, used))
#define SITE extern "C" __attribute__((noinline))
#define INLINE inline __attribute__((always_inline))

#ifndef OBSERVERS
#define OBSERVERS 0
#endif

// ---- how functions of a table are called ----

#if ROW < 129
#define SELF        const struct table *self,
#define HEAD(head)  head,
#else
#define SELF
#define HEAD(head)
#endif
#if ROW >= 150
#define TOKEN       size_t token,
#define NO_TOKEN    0,
#define HAND_TOKEN  token,
#else
#define TOKEN
#define NO_TOKEN
#define HAND_TOKEN
#endif
#if ROW < 129
#define NEXT(member) self->next->member
#define HAND_NEXT    self->next,
#else
#define NEXT(member) front.next->member // of the one table that has such functions
#define HAND_NEXT
#endif

struct table;
typedef void *alloc_fn(SELF size_t, TOKEN void *);
typedef void *zeroed_fn(SELF size_t, size_t, TOKEN void *);
typedef void *aligned_fn(SELF size_t, size_t, TOKEN void *);
typedef void *realloc_fn(SELF void *, size_t, TOKEN void *);
typedef void free_fn(SELF void *, void *);
typedef void free2_fn(SELF void *, size_t, void *);
typedef void free3_fn(SELF void *, size_t, size_t, void *);
typedef size_t usable_fn(SELF void *, void *);
typedef size_t good_fn(SELF size_t, void *);
typedef bool claimed_fn(SELF void *, void *);
typedef unsigned batch_alloc_fn(SELF size_t, void **, unsigned, void *);
typedef void batch_free_fn(SELF void **, unsigned, void *);
typedef void *zeroed2_fn(SELF size_t, size_t, size_t, TOKEN void *);
typedef void *realign_fn(SELF void *, size_t, size_t, TOKEN void *);

// ---- the versions ----

#define OLD_TAIL(X) X(aligned2, aligned_fn) X(realign, realign_fn) X(aligned2_free, free_fn)
#define TAIL(X)                                                                                                                \
	X(aligned2, aligned_fn) X(aligned2_unchecked, aligned_fn) X(realign, realign_fn) X(realign_unchecked, realign_fn)      \
	X(aligned2_free, free_fn)
#define NEW_MIDDLE(X)                                                                                                          \
	X(free_, free_fn) X(free_size, free2_fn) X(free_align, free2_fn) X(free_size_align, free3_fn) X(usable, usable_fn)     \
	X(good, good_fn) X(claimed, claimed_fn) X(batch_alloc, batch_alloc_fn) X(batch_free, batch_free_fn) X(try_free, free_fn)
#if ROW == 80
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(zeroed, zeroed_fn) X(aligned, aligned_fn) X(realloc_, realloc_fn) X(free_, free_fn) X(usable, usable_fn) \
	X(batch_alloc, batch_alloc_fn) X(batch_free, batch_free_fn) X(free_definite, free2_fn) OLD_TAIL(X)
#elif ROW == 92
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(aligned, aligned_fn) X(realloc_, realloc_fn) X(free_, free_fn) \
	X(usable, usable_fn) X(batch_alloc, batch_alloc_fn) X(batch_free, batch_free_fn) X(free_definite, free2_fn) OLD_TAIL(X)
#elif ROW == 110
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(aligned, aligned_fn) X(realloc_, realloc_fn) X(free_, free_fn) \
	X(usable, usable_fn) X(claimed, claimed_fn) X(batch_alloc, batch_alloc_fn) X(batch_free, batch_free_fn)                \
	X(free_definite, free2_fn) X(try_free, free_fn) OLD_TAIL(X)
#elif ROW == 123
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(aligned, aligned_fn) X(realloc_, realloc_fn) X(free_, free_fn) \
	X(usable, usable_fn) X(good, good_fn) X(claimed, claimed_fn) X(batch_alloc, batch_alloc_fn) X(batch_free, batch_free_fn) \
	X(free_definite, free2_fn) X(try_free, free_fn) OLD_TAIL(X)
#elif ROW == 129
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(aligned, aligned_fn) X(realloc_, realloc_fn)          \
	X(realloc_unchecked, realloc_fn) X(free_, free_fn) X(usable, usable_fn) X(good, good_fn) X(claimed, claimed_fn)        \
	X(batch_alloc, batch_alloc_fn) X(batch_free, batch_free_fn) X(free_definite, free2_fn) X(try_free, free_fn) TAIL(X)
#elif ROW == 138
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(aligned, aligned_fn) X(realloc_, realloc_fn)          \
	X(realloc_unchecked, realloc_fn) NEW_MIDDLE(X) TAIL(X)
#elif ROW == 143 || ROW == 150
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(zeroed_unchecked, zeroed_fn) X(aligned, aligned_fn)   \
	X(realloc_, realloc_fn) X(realloc_unchecked, realloc_fn) NEW_MIDDLE(X) TAIL(X)
#elif ROW == 156
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(zeroed_unchecked, zeroed_fn) X(aligned, aligned_fn)   \
	X(aligned_unchecked, aligned_fn) X(realloc_, realloc_fn) X(realloc_unchecked, realloc_fn) NEW_MIDDLE(X) TAIL(X)
#elif ROW == 157
#define MEMBERS(X)                                                                                                             \
	X(alloc, alloc_fn) X(unchecked, alloc_fn) X(zeroed, zeroed_fn) X(zeroed_unchecked, zeroed_fn) X(aligned, aligned_fn)   \
	X(aligned_unchecked, aligned_fn) X(realloc_, realloc_fn) X(realloc_unchecked, realloc_fn) NEW_MIDDLE(X)               \
	X(aligned2, aligned_fn) X(aligned2_unchecked, aligned_fn) X(zeroed2_unchecked, zeroed2_fn) X(realign, realign_fn)      \
	X(realign_unchecked, realign_fn) X(aligned2_free, free_fn)
#endif
#define HAS_UNCHECKED (ROW >= 92)
#define HAS_REALLOC_UNCHECKED (ROW >= 129)
#define HAS_SIZES (ROW >= 138)
#define HAS_ZEROED_UNCHECKED (ROW >= 143)
#define HAS_ALIGNED_UNCHECKED (ROW >= 156)
#define HAS_ZEROED2 (ROW >= 157)

struct table {
#if WRONG == 2
	void (*unknown)();
#endif
#define X(member, type) type *member;
	MEMBERS(X)
#undef X
	const table *next;
};

// ---- the allocator below: a header in front of each block, lists of freed ones by size ----

static struct {
	alignas(64) char room[256 << 20];
	std::atomic<size_t> used;
	std::atomic<bool> locked;
	struct freed { freed *next; } *freed[64];
} pool;
struct header { size_t room, base; }; // usable bytes; of the piece that it lies in

static unsigned class_of(size_t bytes) { return bytes <= 32 ? 5 : 64 - (unsigned)__builtin_clzl(bytes - 1); }
static void *take(size_t bytes, size_t alignment, bool zero)
{
	if (alignment < 16)
		alignment = 16;
	if (bytes > sizeof pool.room / 2)
		return nullptr;
	unsigned c = class_of(bytes + sizeof(header) + (alignment > 16 ? alignment : 0));
	size_t room = (size_t)1 << c;
	while (pool.locked.exchange(true, std::memory_order_acquire)) { }
	char *piece = (char *)pool.freed[c];
	if (piece) {
		pool.freed[c] = pool.freed[c]->next;
	} else {
		piece = pool.room + pool.used;
		pool.used += room;
	}
	pool.locked.store(false, std::memory_order_release);
	if (piece + room > pool.room + sizeof pool.room)
		return nullptr;
	uintptr_t block = ((uintptr_t)piece + sizeof(header) + alignment - 1) & -alignment;
	header *h = (header *)block - 1;
	h->room = (uintptr_t)piece + room - block;
	h->base = (uintptr_t)piece;
	if (zero)
		memset((void *)block, 0, bytes);
	return (void *)block;
}
static void give(void *block)
{
	if (!block)
		return;
	header *h = (header *)block - 1;
	auto *piece = (decltype(pool.freed[0]))h->base;
	unsigned c = class_of((uintptr_t)block + h->room - h->base);
	while (pool.locked.exchange(true, std::memory_order_acquire)) { }
	piece->next = pool.freed[c];
	pool.freed[c] = piece;
	pool.locked.store(false, std::memory_order_release);
}
static size_t room_of(void *block) { return ((header *)block - 1)->room; }
static void *move(void *block, size_t bytes, size_t alignment)
{
	if (!bytes) {
		give(block);
		return nullptr;
	}
	if (block && room_of(block) >= bytes)
		return block;
	void *moved = take(bytes, alignment, false);
	if (moved && block) {
		memcpy(moved, block, room_of(block) < bytes ? room_of(block) : bytes);
		give(block);
	}
	return moved;
}

// ---- the default table ----

namespace base {
#if OBSERVERS
// malloc's partition calls the observers too: nothing may be counted twice
void *alloc(SELF size_t size, TOKEN void *);
#else
void *alloc(SELF size_t size, TOKEN void *) { return take(size, 16, false); }
#endif
void *unchecked(SELF size_t size, TOKEN void *context) { return context ? nullptr : take(size, 16, false); }
void *zeroed(SELF size_t n, size_t size, TOKEN void *) { return take(n * size, 16, true); }
void *zeroed_unchecked(SELF size_t n, size_t size, TOKEN void *context) { return context ? nullptr : take(n * size, 16, true); }
void *aligned(SELF size_t alignment, size_t size, TOKEN void *) { return take(size, alignment, false); }
void *aligned_unchecked(SELF size_t alignment, size_t size, TOKEN void *context) { return context ? nullptr : take(size, alignment, false); }
void *realloc_(SELF void *block, size_t size, TOKEN void *) { return move(block, size, 16); }
void *realloc_unchecked(SELF void *block, size_t size, TOKEN void *context) { return context ? nullptr : move(block, size, 16); }
#if OBSERVERS
void free_(SELF void *block, void *);
#else
void free_(SELF void *block, void *) { give(block); }
#endif
void free_size(SELF void *block, size_t size, void *) { if (block && size > room_of(block)) abort(); give(block); }
void free_align(SELF void *block, size_t alignment, void *) { if ((uintptr_t)block % alignment) abort(); give(block); }
void free_size_align(SELF void *block, size_t size, size_t alignment, void *)
{
	if ((uintptr_t)block % alignment || (block && size > room_of(block)))
		abort();
	give(block);
}
size_t usable(SELF void *block, void *) { return block ? room_of(block) : 0; }
size_t good(SELF size_t size, void *) { return size; }
bool claimed(SELF void *block, void *) { return block != nullptr; }
unsigned batch_alloc(SELF size_t size, void **results, unsigned n, void *) { return n && results && size ? 0 : 0; }
void batch_free(SELF void **, unsigned, void *) { }
void free_definite(SELF void *block, size_t, void *) { give(block); }
void try_free(SELF void *block, void *) { give(block); }
void *aligned2(SELF size_t size, size_t alignment, TOKEN void *) { return take(size, alignment, false); }
void *aligned2_unchecked(SELF size_t size, size_t alignment, TOKEN void *context) { return context ? nullptr : take(size, alignment, false); }
void *zeroed2_unchecked(SELF size_t n, size_t size, size_t alignment, TOKEN void *) { return take(n * size, alignment, true); }
void *realign(SELF void *block, size_t size, size_t alignment, TOKEN void *) { return move(block, size, alignment); }
void *realign_unchecked(SELF void *block, size_t size, size_t alignment, TOKEN void *context) { return context ? nullptr : move(block, size, alignment); }
void aligned2_free(SELF void *block, void *) { give(block); }
}

#if WRONG == 2
static void unknown() { abort(); }
#endif
static const table bottom = {
#if WRONG == 2
	unknown,
#endif
#define X(member, type) base::member,
	MEMBERS(X)
#undef X
	nullptr,
};
#if WRONG == 3
const table *const volatile chain_place_here = &bottom;
#define CHAIN (chain_place_here)
#else
static std::atomic<const table *> chain{&bottom};
#define CHAIN (chain.load(std::memory_order_relaxed))
#endif
#if WRONG == 1
std::atomic<const table *> other_chain{&bottom};
#endif
std::atomic<bool> handler_on_failure{false};
static bool new_handler()
{
	std::new_handler handler = std::get_new_handler();
	if (handler)
		handler();
	return handler != nullptr;
}

// ---- the entries ----

#define TRY(call)                                                                                                              \
	const table *head = CHAIN;                                                                                             \
	void *block;                                                                                                           \
	do                                                                                                                     \
		block = head->call;                                                                                            \
	while (!block && handler_on_failure.load(std::memory_order_relaxed) && new_handler());                                 \
	return block

EXPORT void *malloc(size_t size) { TRY(alloc(HEAD(head) size, NO_TOKEN nullptr)); }
EXPORT void *calloc(size_t n, size_t size) { TRY(zeroed(HEAD(head) n, size, NO_TOKEN nullptr)); }
EXPORT void *realloc(void *block_given, size_t size)
{
	const table *head = CHAIN;
	void *block;
	do
		block = head->realloc_(HEAD(head) block_given, size, NO_TOKEN nullptr);
	while (!block && size && handler_on_failure.load(std::memory_order_relaxed) && new_handler());
	return block;
}
#if WRONG == 1
EXPORT void free(void *block) { const table *head = other_chain.load(std::memory_order_relaxed); head->free_(HEAD(head) block, nullptr); }
#else
EXPORT void free(void *block) { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
#endif
#if WRONG == 4 // nobody calls it
EXPORT void cfree(void *block) { const table *head = CHAIN; ((void (*)(void *, void *))head->free_)(block, nullptr); }
#else
EXPORT void cfree(void *block)
{
	const table *head = CHAIN;
	head->free_(HEAD(head) block, nullptr);
}
#endif
EXPORT void *memalign(size_t alignment, size_t size) { TRY(aligned(HEAD(head) alignment, size, NO_TOKEN nullptr)); }
EXPORT void *aligned_alloc(size_t alignment, size_t size) { TRY(aligned(HEAD(head) alignment, size, NO_TOKEN nullptr)); }
EXPORT int posix_memalign(void **result, size_t alignment, size_t size)
{
	if (alignment % sizeof(void *) || alignment & (alignment - 1) || !alignment)
		return EINVAL;
	const table *head = CHAIN;
	void *block;
	do
		block = head->aligned(HEAD(head) alignment, size, NO_TOKEN nullptr);
	while (!block && handler_on_failure.load(std::memory_order_relaxed) && new_handler());
	*result = block;
	return block ? 0 : ENOMEM;
}
EXPORT size_t malloc_usable_size(void *block) { const table *head = CHAIN; return head->usable(HEAD(head) block, nullptr); }

CXX_EXPORT void *operator new(size_t size) { TRY(alloc(HEAD(head) size, NO_TOKEN nullptr)); }
CXX_EXPORT void *operator new[](size_t size) { TRY(alloc(HEAD(head) size, NO_TOKEN nullptr)); }
#if HAS_UNCHECKED
#define NOTHROW_NEW unchecked
#else
#define NOTHROW_NEW alloc
#endif
#if HAS_ALIGNED_UNCHECKED
#define ALIGNED_NOTHROW_NEW aligned_unchecked
#else
#define ALIGNED_NOTHROW_NEW aligned
#endif
CXX_EXPORT void *operator new(size_t size, const std::nothrow_t &) noexcept { const table *head = CHAIN; return head->NOTHROW_NEW(HEAD(head) size, NO_TOKEN nullptr); }
CXX_EXPORT void *operator new[](size_t size, const std::nothrow_t &) noexcept { const table *head = CHAIN; return head->NOTHROW_NEW(HEAD(head) size, NO_TOKEN nullptr); }
CXX_EXPORT void *operator new(size_t size, std::align_val_t alignment) { TRY(aligned(HEAD(head) (size_t)alignment, size, NO_TOKEN nullptr)); }
CXX_EXPORT void *operator new[](size_t size, std::align_val_t alignment) { TRY(aligned(HEAD(head) (size_t)alignment, size, NO_TOKEN nullptr)); }
CXX_EXPORT void *operator new(size_t size, std::align_val_t alignment, const std::nothrow_t &) noexcept { const table *head = CHAIN; return head->ALIGNED_NOTHROW_NEW(HEAD(head) (size_t)alignment, size, NO_TOKEN nullptr); }
CXX_EXPORT void operator delete(void *block) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
CXX_EXPORT void operator delete[](void *block) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
#if HAS_SIZES && ROW != 138 && ROW != 143
CXX_EXPORT void operator delete(void *block, size_t size) noexcept { const table *head = CHAIN; head->free_size(HEAD(head) block, size, nullptr); }
CXX_EXPORT void operator delete[](void *block, size_t size) noexcept { const table *head = CHAIN; head->free_size(HEAD(head) block, size, nullptr); }
CXX_EXPORT void operator delete(void *block, std::align_val_t alignment) noexcept { const table *head = CHAIN; head->free_align(HEAD(head) block, (size_t)alignment, nullptr); }
CXX_EXPORT void operator delete[](void *block, std::align_val_t alignment) noexcept { const table *head = CHAIN; head->free_align(HEAD(head) block, (size_t)alignment, nullptr); }
CXX_EXPORT void operator delete(void *block, size_t size, std::align_val_t alignment) noexcept { const table *head = CHAIN; head->free_size_align(HEAD(head) block, size, (size_t)alignment, nullptr); }
#else
CXX_EXPORT void operator delete(void *block, size_t) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
CXX_EXPORT void operator delete[](void *block, size_t) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
CXX_EXPORT void operator delete(void *block, std::align_val_t) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
CXX_EXPORT void operator delete[](void *block, std::align_val_t) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
CXX_EXPORT void operator delete(void *block, size_t, std::align_val_t) noexcept { const table *head = CHAIN; head->free_(HEAD(head) block, nullptr); }
#endif

// ---- a table that is put in front later, as Chromium's heap sampler does ----

static table front;
static std::atomic<unsigned long> sampled;

namespace sampler {
INLINE void *saw(void *block) { sampled.fetch_add(block != nullptr, std::memory_order_relaxed); return block; }
void *alloc(SELF size_t size, TOKEN void *context) { return saw(NEXT(alloc)(HAND_NEXT size, HAND_TOKEN context)); }
void *zeroed(SELF size_t n, size_t size, TOKEN void *context) { return saw(NEXT(zeroed)(HAND_NEXT n, size, HAND_TOKEN context)); }
void *aligned(SELF size_t alignment, size_t size, TOKEN void *context) { return saw(NEXT(aligned)(HAND_NEXT alignment, size, HAND_TOKEN context)); }
void *realloc_(SELF void *block, size_t size, TOKEN void *context) { return saw(NEXT(realloc_)(HAND_NEXT block, size, HAND_TOKEN context)); }
void free_(SELF void *block, void *context) { sampled.fetch_add(1, std::memory_order_relaxed); NEXT(free_)(HAND_NEXT block, context); }
}

static void put_in_front()
{
#if WRONG != 3
	front = *chain.load();
	front.alloc = sampler::alloc;
	front.zeroed = sampler::zeroed;
	front.aligned = sampler::aligned;
	front.realloc_ = sampler::realloc_;
	front.free_ = sampler::free_;
	front.next = chain.load();
	chain.store(&front);
#endif
}

#if OBSERVERS
// ---- PartitionAllocHooks, and a partition that is not malloc's ----

#if OBSERVERS == 1
namespace base {
#else
namespace partition_alloc {
#endif
#if OBSERVERS >= 3
class AllocationNotificationData {
public:
	AllocationNotificationData(void *address, size_t size, const char *type) : address_(address), size_(size), type_name_(type) { }
	void *address_;
	size_t size_;
	const char *type_name_;
};
class FreeNotificationData {
public:
	explicit FreeNotificationData(void *address) : address_(address) { }
	void *address_;
};
typedef void AllocationObserverHook(const AllocationNotificationData &);
typedef void FreeObserverHook(const FreeNotificationData &);
#else
typedef void AllocationObserverHook(void *, size_t, const char *);
typedef void FreeObserverHook(void *);
#endif
class PartitionAllocHooks {
public:
	__attribute__((noinline)) static void SetObserverHooks(AllocationObserverHook *, FreeObserverHook *);
	static std::atomic<bool> hooks_enabled_;
	static std::atomic<AllocationObserverHook *> allocation_observer_hook_;
	static std::atomic<FreeObserverHook *> free_observer_hook_;
};
std::atomic<bool> PartitionAllocHooks::hooks_enabled_(false);
std::atomic<AllocationObserverHook *> PartitionAllocHooks::allocation_observer_hook_(nullptr);
std::atomic<FreeObserverHook *> PartitionAllocHooks::free_observer_hook_(nullptr);
void PartitionAllocHooks::SetObserverHooks(AllocationObserverHook *allocated, FreeObserverHook *freed)
{
	if ((allocation_observer_hook_ || free_observer_hook_) && (allocated || freed))
		ledger::fail("observer hooks are set twice"); // as Chromium does
	allocation_observer_hook_ = allocated;
	free_observer_hook_ = freed;
	hooks_enabled_ = allocated != nullptr;
}

static INLINE void allocated(void *block, size_t size, const char *type)
{
	AllocationObserverHook *hook = PartitionAllocHooks::hooks_enabled_ ? PartitionAllocHooks::allocation_observer_hook_.load() : nullptr;
	if (hook)
#if OBSERVERS >= 3
		hook(AllocationNotificationData(block, size, type));
#else
		hook(block, size, type);
#endif
}
static INLINE void freed(void *block)
{
	FreeObserverHook *hook = PartitionAllocHooks::hooks_enabled_ ? PartitionAllocHooks::free_observer_hook_.load() : nullptr;
	if (hook)
#if OBSERVERS >= 3
		hook(FreeNotificationData(block));
#else
		hook(block);
#endif
}

static std::atomic<unsigned long> own_allocated, own_freed;
#if OBSERVERS >= 3
static void own_on_alloc(const AllocationNotificationData &data) { own_allocated += data.size_ != 0; }
static void own_on_free(const FreeNotificationData &data) { own_freed += data.address_ != nullptr; }
#else
static void own_on_alloc(void *, size_t size, const char *) { own_allocated += size != 0; }
static void own_on_free(void *block) { own_freed += block != nullptr; }
#endif
#if OBSERVERS == 4
EXPORT void sets_them_itself() { PartitionAllocHooks::allocation_observer_hook_ = own_on_alloc; }
#endif
}
#if OBSERVERS == 1
namespace hooks = base;
#else
namespace hooks = partition_alloc;
#endif

namespace base {
void *alloc(SELF size_t size, TOKEN void *)
{
	void *block = take(size, 16, false);
	if (block)
		hooks::allocated(block, size, "");
	return block;
}
void free_(SELF void *block, void *)
{
	if (block)
		hooks::freed(block);
	give(block);
}
}

struct text { char letters[40]; };
struct array_buffer { long cells[30]; };
// as Blink's names are made
template <class T> INLINE const char *name_of() { return __PRETTY_FUNCTION__; }

#define PARTITION(name, class, size, text)                                                                                     \
	SITE void *truth_partition_##name()                                                                                    \
	{                                                                                                                      \
		void *block = take(size, 16, false);                                                                           \
		hooks::allocated(block, size, text);                                                                           \
		memset(block, 1, size);                                                                                        \
		ledger::alloced("truth_partition_" #name, block, size, class);                                                 \
		return block;                                                                                                  \
	}
PARTITION(buffer, "text", sizeof(text), name_of<text>())
PARTITION(array_buffer, "array_buffer", sizeof(array_buffer), name_of<array_buffer>())
PARTITION(literal, "WTF::Vector<int>", 64, "WTF::Vector<int>")
PARTITION(nameless, nullptr, 72, nullptr)
static void end_partition(void *block)
{
	ledger::freeing(block);
	hooks::freed(block);
	give(block);
}
static void partitions()
{
	for (int i = 0; i < 200; i++) {
		end_partition(truth_partition_buffer());
		end_partition(truth_partition_nameless());
		void *kept = truth_partition_array_buffer();
		if (i % 4)
			end_partition(kept);
		truth_partition_literal();
	}
}
#else
static void partitions() { }
#endif

// ---- what it does; each function makes blocks of its own ----

#define MADE(name, size, expression)                                                                                           \
	SITE void *truth_##name()                                                                                              \
	{                                                                                                                      \
		const table *head = CHAIN;                                                                                     \
		void *block = (expression);                                                                                    \
		(void)head;                                                                                                    \
		memset(block, 1, size);                                                                                        \
		ledger::alloced("truth_" #name, block, size);                                                                  \
		return block;                                                                                                  \
	}
MADE(malloc, 24, malloc(24))
MADE(malloc_large, 300000, malloc(300000))
MADE(calloc, 7 * 30, calloc(7, 30))
MADE(realloc_null, 50, realloc(nullptr, 50))
MADE(memalign, 100, memalign(64, 100))
MADE(aligned_alloc, 128, aligned_alloc(128, 128))
MADE(new, 40, operator new(40))
MADE(new_array, 48, operator new[](48))
MADE(new_nothrow, 56, operator new(56, std::nothrow))
MADE(new_array_nothrow, 64, operator new[](64, std::nothrow))
MADE(new_aligned, 72, operator new(72, std::align_val_t(64)))
MADE(new_array_aligned, 80, operator new[](80, std::align_val_t(32)))
MADE(new_aligned_nothrow, 88, operator new(88, std::align_val_t(64), std::nothrow))
MADE(direct, 96, head->alloc(HEAD(head) 96, NO_TOKEN nullptr))
MADE(direct_aligned2, 104, head->aligned2(HEAD(head) 104, 64, NO_TOKEN nullptr))
#if HAS_UNCHECKED
MADE(direct_unchecked, 112, head->unchecked(HEAD(head) 112, NO_TOKEN nullptr))
#endif
#if HAS_ZEROED_UNCHECKED
MADE(direct_zeroed_unchecked, 3 * 40, head->zeroed_unchecked(HEAD(head) 3, 40, NO_TOKEN nullptr))
#endif
#if HAS_REALLOC_UNCHECKED
MADE(direct_aligned2_unchecked, 120, head->aligned2_unchecked(HEAD(head) 120, 64, NO_TOKEN nullptr))
#endif
#if HAS_ALIGNED_UNCHECKED
MADE(direct_aligned_unchecked, 136, head->aligned_unchecked(HEAD(head) 64, 136, NO_TOKEN nullptr))
#endif
#if HAS_ZEROED2
MADE(direct_zeroed2, 5 * 30, head->zeroed2_unchecked(HEAD(head) 5, 30, 64, NO_TOKEN nullptr))
#endif
SITE void *truth_posix_memalign()
{
	void *block;
	if (posix_memalign(&block, 256, 44))
		ledger::fail("posix_memalign failed");
	ledger::alloced("truth_posix_memalign", block, 44);
	return block;
}

#define RESIZED(name, expression)                                                                                              \
	SITE void *truth_##name(void *block, size_t size)                                                                      \
	{                                                                                                                      \
		const table *head = CHAIN;                                                                                     \
		ledger::locked guard;                                                                                          \
		ledger::end((uintptr_t)block);                                                                                 \
		void *moved = (expression);                                                                                    \
		(void)head;                                                                                                    \
		ledger::begin("truth_" #name, moved, size, nullptr, false, true);                                              \
		return moved;                                                                                                  \
	}
RESIZED(realloc, realloc(block, size))
RESIZED(direct_realign, head->realign(HEAD(head) block, size, 64, NO_TOKEN nullptr))
#if HAS_REALLOC_UNCHECKED
RESIZED(direct_realloc_unchecked, head->realloc_unchecked(HEAD(head) block, size, NO_TOKEN nullptr))
RESIZED(direct_realign_unchecked, head->realign_unchecked(HEAD(head) block, size, 64, NO_TOKEN nullptr))
#endif

#define END(name, expression)                                                                                                  \
	SITE void end_##name(void *block)                                                                                      \
	{                                                                                                                      \
		const table *head = CHAIN;                                                                                     \
		ledger::freeing(block);                                                                                        \
		expression;                                                                                                    \
		(void)head;                                                                                                    \
	}
END(free, free(block))
END(realloc_zero, if (realloc(block, 0)) ledger::fail("realloc of size zero gave a block"))
END(delete, operator delete(block))
END(delete_array, operator delete[](block))
END(delete_size, operator delete(block, (size_t)40))
END(delete_array_size, operator delete[](block, (size_t)48))
END(delete_align, operator delete(block, std::align_val_t(64)))
END(delete_array_align, operator delete[](block, std::align_val_t(32)))
END(delete_size_align, operator delete(block, (size_t)88, std::align_val_t(64)))
END(direct, head->free_(HEAD(head) block, nullptr))
END(direct_aligned2, head->aligned2_free(HEAD(head) block, nullptr))
#if HAS_SIZES
END(direct_size, head->free_size(HEAD(head) block, 24, nullptr))
#else
#define end_direct_size end_direct
#endif

static void *once(void *)
{
	for (int i = 0; i < 50; i++) {
		void *kept = i % 5 == 0 ? truth_malloc() : nullptr;
		end_free(truth_malloc());
		end_direct_size(truth_malloc());
		end_free(truth_malloc_large());
		end_realloc_zero(truth_calloc());
		end_free(truth_realloc(truth_realloc_null(), 5000));
		end_free(truth_realloc(truth_malloc(), 10));
		end_free(truth_memalign());
		end_free(truth_aligned_alloc());
		end_free(truth_posix_memalign());
		end_delete_size(truth_new());
		end_delete(truth_new());
		end_delete_array_size(truth_new_array());
		end_delete_array(truth_new_array());
		end_delete(truth_new_nothrow());
		end_delete_array(truth_new_array_nothrow());
		end_delete_align(truth_new_aligned());
		end_delete_array_align(truth_new_array_aligned());
		end_delete_size_align(truth_new_aligned_nothrow());
		end_direct(truth_direct());
		end_direct_aligned2(truth_direct_aligned2());
		end_direct_aligned2(truth_direct_realign(truth_direct_aligned2(), 4000));
#if HAS_UNCHECKED
		end_direct(truth_direct_unchecked());
#endif
#if HAS_ZEROED_UNCHECKED
		end_direct(truth_direct_zeroed_unchecked());
#endif
#if HAS_REALLOC_UNCHECKED
		end_direct_aligned2(truth_direct_aligned2_unchecked());
		end_direct(truth_direct_realloc_unchecked(truth_malloc(), 700));
		end_direct_aligned2(truth_direct_realign_unchecked(truth_direct_aligned2(), 6000));
#endif
#if HAS_ALIGNED_UNCHECKED
		end_direct(truth_direct_aligned_unchecked());
#endif
#if HAS_ZEROED2
		end_direct_aligned2(truth_direct_zeroed2());
#endif
		if (kept && malloc_usable_size(kept) < 24)
			ledger::fail("a block is smaller than it should be");
	}
	return nullptr;
}

#ifdef ATTACHED // with attached.c, which has another main
extern "C" void attached_front()
{
	(void)!write(-1, "partition_alloc", 15); // by these words its allocator is known
	put_in_front();
}
#else
static void round()
{
	pthread_t thread[3];
	once(nullptr);
	for (pthread_t &t : thread)
		if (pthread_create(&t, nullptr, once, nullptr))
			ledger::fail("no thread");
	for (pthread_t &t : thread)
		pthread_join(t, nullptr);
}

int main()
{
	(void)!write(-1, "partition_alloc", 15); // by these words its allocator is known
	round();
	partitions();
	put_in_front();
#if OBSERVERS
	hooks::PartitionAllocHooks::SetObserverHooks(hooks::own_on_alloc, hooks::own_on_free);
#endif
	round();
	partitions();
#if OBSERVERS
	if (hooks::own_allocated.load() < 800 || hooks::own_freed.load() < 550)
		ledger::fail("the program's own observers were not called");
#endif
#if WRONG != 3
	if (!sampled.load())
		ledger::fail("the table in front was not called");
#endif
	ledger::print("main");
}
#endif
