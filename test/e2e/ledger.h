// SPDX-License-Identifier: Apache-2.0
/*
 * ledger.h: a program's own exact book of its blocks, kept without allocating, printed as JSON
 * lines.
 *
 * Runs:      in test programs, which know nothing of Shiny.
 * Allocates: nothing: fixed tables, write(2).
 * Threads:   any; one spin lock.
 *
 * Every block is made by an extern "C" function that is named here as its site (truth_…) and calls
 * the allocator directly, so that the function holding the call site's return address identifies
 * the block in a session too. Counts are defined as in src/store/store.h: allocs holds successful
 * reallocs, frees holds blocks given to them, allocs + inherited_frees = frees + live.
 */
#ifndef TEST_LEDGER_H
#define TEST_LEDGER_H

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace ledger {

enum { SITES = 64, THREADS = 64, BLOCKS = 1 << 20 };

struct numbers {
	uint64_t allocs, reallocs, frees, bytes, live, live_bytes, inherited, inherited_bytes,
		inherited_frees;
};
struct site {
	const char *function, *type; // type: the class of all its blocks, NULL: no class
	bool brief; // its blocks die at once: their class can be known only as "at least" a base
	numbers n;
	uint64_t held, held_bytes;   // what the process has of it, inherited ones too
};
struct thread {
	int tid;
	uint64_t allocs, frees, bytes; // on this thread
};
struct block {
	uintptr_t address; // 0: empty
	uint64_t size;
	int site;
	int forks; // that led to who made it
};

inline site sites[SITES];
inline int site_count;
inline thread threads[THREADS];
inline int thread_count;
inline thread_local thread *self;
inline block blocks[BLOCKS];
inline volatile int lock_word;
inline int forks; // that led here

[[noreturn]] inline void fail(const char *what)
{
	(void)!write(2, what, strlen(what));
	(void)!write(2, "\n", 1);
	_exit(99);
}

struct locked {
	locked() { while (__atomic_exchange_n(&lock_word, 1, __ATOMIC_ACQUIRE)) usleep(0); }
	~locked() { __atomic_store_n(&lock_word, 0, __ATOMIC_RELEASE); }
};

// Neighbours stand beside each other, as what a page of the table costs, and again in each forked
// process, is most of what a block costs. Of each 16 MiB of addresses the first place is another.
inline size_t home(uintptr_t address)
{
	uintptr_t part = (address >> 24) * UINT64_C(0x9e3779b97f4a7c15) >> 44;
	return ((address >> 4) + part) % BLOCKS;
}

inline size_t find(uintptr_t address)
{
	size_t at = home(address);
	while (blocks[at].address && blocks[at].address != address)
		at = (at + 1) % BLOCKS;
	return at;
}

inline void erase(size_t at)
{
	for (size_t next = at;;) {
		next = (next + 1) % BLOCKS;
		if (!blocks[next].address)
			break;
		size_t wants = home(blocks[next].address);
		if ((at <= next) ? (wants <= at || wants > next) : (wants <= at && wants > next)) {
			blocks[at] = blocks[next];
			at = next;
		}
	}
	blocks[at].address = 0;
}

inline int find_site(const char *function, const char *type, bool brief)
{
	for (int i = 0; i < site_count; i++)
		if (!strcmp(sites[i].function, function))
			return i;
	if (site_count == SITES)
		fail("ledger: too many sites");
	sites[site_count].function = function;
	sites[site_count].type = type;
	sites[site_count].brief = brief;
	return site_count++;
}

inline thread *here()
{
	if (self)
		return self;
	if (thread_count == THREADS)
		fail("ledger: too many threads");
	self = &threads[thread_count++];
	self->tid = (int)syscall(SYS_gettid);
	return self;
}

inline void begin(const char *function, const void *address, size_t size, const char *type,
		  bool brief, bool realloced)
{
	if (!address)
		fail("ledger: an allocation failed");
	int s = find_site(function, type, brief);
	size_t at = find((uintptr_t)address);
	if (blocks[at].address)
		fail("ledger: a block was handed out twice");
	blocks[at].address = (uintptr_t)address;
	blocks[at].size = size;
	blocks[at].site = s;
	blocks[at].forks = forks;
	numbers &n = sites[s].n;
	n.allocs++;
	n.reallocs += realloced;
	n.bytes += size;
	n.live++;
	n.live_bytes += size;
	sites[s].held++;
	sites[s].held_bytes += size;
	here()->allocs++;
	here()->bytes += size;
}

inline void end(uintptr_t address)
{
	size_t at = find(address);
	if (!blocks[at].address)
		fail("ledger: an unknown block ends");
	numbers &n = sites[blocks[at].site].n;
	n.frees++;
	bool own = blocks[at].forks == forks;
	n.inherited_frees += !own;
	n.live -= own;
	n.live_bytes -= own ? blocks[at].size : 0;
	sites[blocks[at].site].held--;
	sites[blocks[at].site].held_bytes -= blocks[at].size;
	here()->frees++;
	erase(at);
}

// A block came from the function `function`; call with the address that the allocator returned.
inline void alloced(const char *function, const void *address, size_t size,
		    const char *type = nullptr, bool brief = false)
{
	locked guard;
	begin(function, address, size, type, brief, false);
}

// Call before the block is given back: afterwards another thread may own the address.
inline void freeing(const void *address)
{
	if (!address)
		return;
	locked guard;
	end((uintptr_t)address);
}

// In a forked child, as its first act: what lives now was brought along.
inline void forked()
{
	for (int i = 0; i < site_count; i++) {
		numbers &n = sites[i].n;
		n = numbers{0, 0, 0, 0, 0, 0, sites[i].held, sites[i].held_bytes, 0};
	}
	forks++;
	memset(threads, 0, sizeof threads);
	thread_count = 0;
	self = nullptr;
	here();
}

inline void line(const char *format, ...) __attribute__((format(printf, 1, 2)));
inline void line(const char *format, ...)
{
	char text[1024];
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	if (write(1, text, (size_t)length) != length)
		fail("ledger: standard output does not take it");
}

inline void print(const char *process)
{
	locked guard;
	line("{\"kind\":\"process\",\"process\":\"%s\",\"pid\":%d}\n", process, (int)getpid());
	for (int i = 0; i < site_count; i++) {
		const site &s = sites[i];
		const numbers &n = s.n;
		line("{\"kind\":\"site\",\"process\":\"%s\",\"function\":\"%s\",\"type\":%s%s%s,"
		     "\"brief\":%d,\"allocs\":%lu,\"reallocs\":%lu,"
		     "\"frees\":%lu,\"bytes\":%lu,\"live\":%lu,\"live_bytes\":%lu,\"inherited\":%"
		     "lu,\"inherited_bytes\":%lu,\"inherited_frees\":%lu}\n",
		     process, s.function, s.type ? "\"" : "", s.type ? s.type : "null",
		     s.type ? "\"" : "", s.brief, n.allocs, n.reallocs, n.frees, n.bytes, n.live,
		     n.live_bytes, n.inherited, n.inherited_bytes, n.inherited_frees);
	}
	for (int i = 0; i < thread_count; i++)
		line("{\"kind\":\"thread\",\"process\":\"%s\",\"tid\":%d,\"allocs\":%lu,\"frees\":%"
		     "lu,\"bytes\":%lu}\n",
		     process, threads[i].tid, threads[i].allocs, threads[i].frees,
		     threads[i].bytes);
}

} // namespace ledger

#endif
