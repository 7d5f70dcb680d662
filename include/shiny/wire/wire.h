/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire.h: the mapped format that the library writes and the sidecar reads.
 *
 * Runs:      both sides.
 * Signals:   –    Allocates: –    Threads: –
 *
 * This file describes the format; offsets.def lists the size and offset of every field, which both
 * sides assert and sign. It includes <stddef.h>, <stdint.h> and second_level.h only. ring.h says
 * how the words may be read and written, and in which order.
 *
 * A ring is one file an exec'd image, `ring.<pid>.<n>` in the session directory:
 *
 *   0             struct shiny_header            4 KiB
 *   notices_at    struct shiny_notice  [SHINY_NOTICES]
 *   processes_at  struct shiny_process [processes]        space for the first processes_ready of them
 *   threads_at    struct shiny_thread  [threads]          likewise
 *   states_at     uint64_t chunk state [chunks]
 *   smalls_at     chunks 0 … smalls - 1                   SHINY_SMALL_BYTES each
 *   chunks_at     chunks smalls … chunks - 1              SHINY_CHUNK_BYTES each
 *
 * Each part begins on a page. A stream begins with small chunks and takes large ones once it has
 * filled a few: a thread that writes little costs a page of the ring, one that writes much meets a
 * chunk's end seldom.
 *
 * Every file that maps the ring for writing holds a shared flock on it, taken before the mapping
 * and never released by hand: the lock belongs to the open file description, which the mapping
 * itself keeps alive, through fork, until the last process is gone. So one try for the exclusive
 * lock tells whether any process is left, in every pid namespace and after SIGKILL.
 */
#ifndef SHINY_WIRE_H
#define SHINY_WIRE_H

#include <stddef.h>
#include <stdint.h>

/* "\xffSHINYR1", little endian: not text, so no text file matches */
#define SHINY_MAGIC   UINT64_C(0x31524e59494853ff)
#define SHINY_VERSION 9u

/*
 * The session directory, mode 0700: ROOT/shiny-<uid>/<pid>.<ticks>, where ROOT is the first of
 * /dev/shm, $TMPDIR and /tmp that has SHINY_ROOT_ROOM bytes free, or else the first that is usable.
 * A container's /dev/shm is often 64 MiB, and the program needs it too (Chromium dies when it is
 * full). A directory that `shinyctl run` created is called <pid>.<ticks>.<key>, where the key is 16
 * random hexadecimal digits. Programs of the session that cannot reach it connect to the abstract
 * socket SHINY_GUESTS<pid>.<ticks>, send the key, and receive the boot id and the descriptor of a
 * ring in the directory, locked as above (interpose/boot/guest.c). Files in the directory:
 */
#define SHINY_GUESTS "shiny/"
#define SHINY_ROOT_ROOM (UINT64_C(512) << 20)
#define SHINY_RING_PREFIX "ring." /* ring.<pid>.<n>, mode 0600 */
/* The one sidecar holds an exclusive flock on this file while it serves the directory. The file is
 * empty until that sidecar writes the end of its session and drains no ring any more. */
#define SHINY_SIDECAR_LOCK "sidecar.lock"
/* Only shinyctl defines this symbol; the library does not record a program that has it. */
extern const char shiny_ctl_itself[] __attribute__((weak));
/*
 * unrecorded.<pid>.<n> says that a program is not recorded. It is a symbolic link
 * (interpose/boot/say_unrecorded.c says why) that leads nowhere; its text is one line each for a
 * word of unrecorded_reason.def, getppid(), and details or nothing, and then the executable's path.
 * The sidecar removes it.
 */
#define SHINY_UNRECORDED_PREFIX "unrecorded."
/* program.<pid> is a copy of a program's file that no path leads to: a memfd's or a deleted file's.
 * The sidecar removes it. */
#define SHINY_PROGRAM_PREFIX "program."
#define SHINY_UNRECORDED_MAX 1024 /* bytes of the link's text; a longer one is cut */
/* mark.<CLOCK_BOOTTIME in ns> is a mark set from outside; the file contains its name. The sidecar
 * removes it. */
#define SHINY_MARK_PREFIX "mark."

enum {
	SHINY_CHUNK_BYTES = 64 * 1024,
	SHINY_SMALL_BYTES = 4 * 1024,
	SHINY_RECORD_BYTES = 16,
	/* the chunk's header takes the room of four records */
	SHINY_CHUNK_RECORDS = SHINY_CHUNK_BYTES / SHINY_RECORD_BYTES - 4,
	SHINY_SMALL_RECORDS = SHINY_SMALL_BYTES / SHINY_RECORD_BYTES - 4,
	/* slots of a ring's tables; their number depends on the ring's size (attach.c) */
	SHINY_PROCESSES_MAX = 64 * 1024,
	SHINY_THREADS_MAX = 64 * 1024,
	SHINY_NOTICES = 256,
	SHINY_FRAMES_MAX = 64,
	SHINY_PATH_MAX = 4096,
};

/* ---- names generated from the tables ---- */

enum shiny_record_kind {
	SHINY_REC_NONE = 0,
#define SHINY_RECORD(name, layout, text) SHINY_REC_##name,
#include <shiny/wire/record.def>
#undef SHINY_RECORD
	SHINY_REC_KINDS
};

enum shiny_api {
#define SHINY_API(name, text, family) SHINY_API_##name,
#include <shiny/wire/api.def>
#undef SHINY_API
	SHINY_APIS
};

#include <shiny/wire/second_level.h>

enum shiny_map_call {
#define SHINY_MAP(name, text) SHINY_MAP_##name,
#include <shiny/wire/map.def>
#undef SHINY_MAP
	SHINY_MAP_CALLS
};

enum shiny_unrecorded {
#define SHINY_UNRECORDED(name, word, weight, text) SHINY_UNRECORDED_##name,
#include <shiny/wire/unrecorded_reason.def>
#undef SHINY_UNRECORDED
	SHINY_UNRECORDED_REASONS
};

enum shiny_counter {
#define SHINY_COUNTER(name, weight, text, advice) SHINY_COUNT_##name,
#include <shiny/wire/counters.def>
#undef SHINY_COUNTER
	SHINY_COUNTERS
};

/*
 * ---- the record: 16 bytes ----
 *
 *   w0   63 ─────────────── 20 19 ───────── 0
 *        address >> 3 (44 bits) stack id (20)
 *   w1   63 ──────── 31 30 ────── 11 10 ─ 6 5 ── 0
 *        dt (33 bits)   size (20)    api    kind
 *
 * `dt` is the time in clock ticks since the time base in force: the chunk's, or the last TIME
 * record's before this one. `kind` is never 0 in a published record, and w1 is stored last: see
 * [pub] in ring.h.
 *
 * Stack id 0 is "no stack" and is never defined.
 * EVENT   as drawn. Address 8-byte aligned and below 2^47, size below 2^20; what does not fit takes
 *         the _WIDE kind.
 * RUN     w0: stack id as drawn, the 44 bits hold `aux`; `size` is the number of payload records
 *         that follow. STACK: the id is the one being defined, aux the number of frames.
 *         STACK_LIKE: the same, aux as in SHINY_LIKE below: `inner` frames of the payload, then
 *         `kept` of the stack that was defined last in this chunk, without its first `skip`, then
 *         the rest of the payload, `frames` in all. The first definition in a chunk is a STACK, so
 *         that a chunk can be read without the one before it. A run never crosses a chunk's end.
 * VPTR    w0: address as drawn, 19..0 `when`'s low bits. w1: 63..20 the word's value >> 3 (a vtable
 *         address point, or of a run time's type), 19..11 `when`'s high bits, 10..6 see
 *         shiny_vptr_api. `when` 0: the time of the record before it in its stream; else dt + 1.
 * OBJECT  w0 as drawn. w1: 63..33 dt (31 bits), 32..19 the index of the object's kind, 18..6 size;
 *         larger ones are OBJECT_WIDE.
 * NAMED   w0: address as drawn, stack id 0. w1: 63..16 address of the text. Its time is that of the
 *         record before it.
 * TYPED   w0: as NAMED. w1: 63..16 the type's key. Its time is that of the record before it.
 * TIME    w0: the new base in ticks, all 64 bits.
 * TAG     stack id and address 0; size: the index of the tag that the stream's thread has from here
 *         on, 0 none, and the level of its sample from SHINY_LEVEL_SHIFT. It is repeated at the
 *         beginning of each chunk: a chunk without it begins with no tag, at level 0.
 * POOL    repeated likewise at need: a chunk begins with no pool.
 * LOSS    w0: number of records lost << 20. w1: dt as drawn; size: the shiny_counter that counted
 *         them. Stack ids that were defined before a LOSS are void after it.
 */
enum {
	SHINY_STACK_BITS = 20,
	SHINY_SIZE_BITS = 20,
	SHINY_DT_BITS = 33,
	SHINY_KIND_BITS = 6,
	SHINY_API_BITS = 5,
	SHINY_API_SHIFT = SHINY_KIND_BITS,
	SHINY_SIZE_SHIFT = SHINY_API_SHIFT + SHINY_API_BITS,
	SHINY_DT_SHIFT = SHINY_SIZE_SHIFT + SHINY_SIZE_BITS,
	SHINY_ADDRESS_SHIFT = SHINY_STACK_BITS,
	SHINY_GRANULE_SHIFT = 3,
	SHINY_VTABLE_SHIFT = 20,
	SHINY_WHEN_LOW_BITS = SHINY_STACK_BITS,
	SHINY_WHEN_HIGH_BITS = SHINY_VTABLE_SHIFT - SHINY_SIZE_SHIFT,
	SHINY_NAME_SHIFT = 16,
	SHINY_OBJECT_SIZE_BITS = 13,
	SHINY_OBJECT_INDEX_BITS = 14, /* Oilpan's own limit */
	SHINY_OBJECT_INDEX_SHIFT = SHINY_KIND_BITS + SHINY_OBJECT_SIZE_BITS,
	SHINY_OBJECT_DT_SHIFT = SHINY_OBJECT_INDEX_SHIFT + SHINY_OBJECT_INDEX_BITS,
	SHINY_OBJECT_WIDE_SHIFT = 48, /* bits below the index in OBJECT_WIDE's size */
};
#define SHINY_OBJECT_DT_LIMIT (UINT64_C(1) << (64 - SHINY_OBJECT_DT_SHIFT))
#define SHINY_STACK_LIMIT (UINT64_C(1) << SHINY_STACK_BITS)
#define SHINY_SIZE_LIMIT  (UINT64_C(1) << SHINY_SIZE_BITS)
#define SHINY_DT_LIMIT    (UINT64_C(1) << SHINY_DT_BITS)
#define SHINY_WHEN_LIMIT  (UINT64_C(1) << (SHINY_WHEN_LOW_BITS + SHINY_WHEN_HIGH_BITS))

struct shiny_record {
	uint64_t w0;
	uint64_t w1; /* [pub] stored last */
};

/* STACK_LIKE's aux; each number is at most SHINY_FRAMES_MAX. */
#define SHINY_LIKE(frames, inner, skip, kept)                                        \
	((uint64_t)(frames) | (uint64_t)(inner) << 8 | (uint64_t)(skip) << 16 |       \
	 (uint64_t)(kept) << 24)
#define SHINY_LIKE_FRAMES(aux) ((uint32_t)((aux) & 0xff))
#define SHINY_LIKE_INNER(aux)  ((uint32_t)((aux) >> 8 & 0xff))
#define SHINY_LIKE_SKIP(aux)   ((uint32_t)((aux) >> 16 & 0xff))
#define SHINY_LIKE_KEPT(aux)   ((uint32_t)((aux) >> 24 & 0xff))

/* The moment at which a vptr was read; the `api` of a VPTR record. Bit 3: it is the block's second
 * word (an array cookie is the first). Bit 4: it is the address of the object's type object. */
enum shiny_vptr_api {
	/* a later allocation pushed the block out of the nursery: its construction has ended */
	SHINY_VPTR_SETTLED = 0,
	SHINY_VPTR_FLUSH = 1,   /* the sidecar requested a flush; the block may be very young */
	SHINY_VPTR_EXIT = 2,    /* the thread or process ended */
	/* just before the free: destructors have run, so the class is this one or derived from
	 * it */
	SHINY_VPTR_FREE = 3,
	SHINY_VPTR_SECOND_WORD = 8,
	SHINY_VPTR_TYPE_OBJECT = 16,
};

/* payloads of runs; each is a whole number of records */
struct shiny_wide {
	uint64_t address;
	uint64_t size;
};

enum { SHINY_MAP_NAME_MAX = 32 };
struct shiny_map {
	uint64_t address; /* the call's result, or its argument (munmap, mprotect, madvise, name) */
	uint64_t bytes;
	union {
		struct {
			uint64_t old_address; /* mremap: the old address; brk: the old break; else
			                       * 0 */
			uint64_t old_bytes;
			uint64_t begun;  /* ticks before the call, if it unmaps memory; else 0. The
			                  * call did not affect blocks that began later */
			uint64_t offset; /* mmap: offset in the file */
		};
		char name[SHINY_MAP_NAME_MAX]; /* name: the name's beginning, ended by a zero or by
		                                * the field's end */
	};
	uint32_t prot;  /* mmap, mprotect: PROT_*; madvise: the advice */
	uint32_t flags; /* MAP_* or MREMAP_* */
	int32_t fd;
	uint32_t reserved;
};

/*
 * Kinds `first` to `first + count - 1` of garbage-collected objects are described at `place`,
 * `place + step`, …: addresses that tell kinds apart in every process of this executable. They are
 * the elements of a section in Chromium 156, and one variable each in Chromium 150.
 */
struct shiny_object_kinds {
	uint64_t place;
	uint32_t first, count;
	uint32_t step;
	uint32_t reserved[3];
};

/* A class. CONSTRUCTED and DESTROYED records of this process and its children name it by
 * `index`. */
/* SHINY_THIS_ON_STACK in the `api` of those records: `this` lies on the thread's own stack. */
enum { SHINY_CLASS_NAME_MAX = 1008, SHINY_THIS_ON_STACK = 1 };
struct shiny_class {
	uint64_t place; /* an address in the class's module */
	uint32_t index;
	uint32_t bytes; /* sizeof, 0: unknown */
	uint32_t constructors, destructors, unpatched, inlined; /* as in struct shiny_ctors_class */
	uint32_t name_bytes; /* the name follows, without a zero; zeros fill the last record */
	uint32_t reserved[3];
};

/* A tag, which TAG records of this process and its children name by `index`; or a mark: index 0. */
enum { SHINY_TAG_NAME_MAX = 64 };
struct shiny_tag {
	uint32_t index;
	uint32_t name_bytes; /* the name follows, without a zero; zeros fill the last record */
	uint64_t reserved;
};

/* The name of a type, which TYPED records of this process and its children name by `key`; a later
 * one of the same key replaces it. */
enum { SHINY_TYPE_NAME_MAX = 256 };
enum shiny_run_time { SHINY_RUN_TIME_GOBJECT, SHINY_RUN_TIME_PYTHON, SHINY_RUN_TIME_TALLOC,
	SHINY_RUN_TIME_OBJC, SHINY_RUN_TIME_GNUSTEP, SHINY_RUN_TIMES };
struct shiny_type_name {
	uint64_t key; /* a GType; the address of a type object or a class */
	uint32_t run_time;   /* enum shiny_run_time */
	uint32_t name_bytes; /* the name follows, without a zero; zeros fill the last record */
};

enum {
	SHINY_MODULE_MAIN = 1,     /* the executable itself */
	SHINY_MODULE_FIXED = 2,    /* ET_EXEC: linked at its address */
	/* its path was relative, and completed with the first directory; /proc has the right one */
	SHINY_MODULE_GUESSED = 4,
	/* the allocator functions that it exports beside the hooked names lead to the library */
	SHINY_MODULE_REACHED = 8,
	SHINY_MODULE_LATE = 16, /* it was opened when the program ran */
	SHINY_MODULE_BARRED = 32, /* then a filter, no sidecar or no room kept it unpatched */
	SHINY_BUILD_ID_MAX = 32,
};
struct shiny_module {
	uint64_t start, end; /* lowest and highest mapped address of its PT_LOADs */
	uint64_t bias;       /* run-time address = bias + address in the file */
	uint32_t flags;      /* SHINY_MODULE_* */
	uint16_t build_id_bytes;
	uint16_t path_bytes; /* the path follows likewise */
	uint8_t build_id[SHINY_BUILD_ID_MAX];
};

/* ---- tables ---- */

enum shiny_slot_state {
	SHINY_SLOT_FREE = 0,
	SHINY_SLOT_CLAIMED = 1, /* being filled in */
	SHINY_SLOT_LIVE = 2,    /* [slot] filled in */
	/* its owner has ended; the sidecar drains and frees it */
	SHINY_SLOT_DONE = 3,
};

/* A process that shares this ring: the exec'd image (slot 0) or a forked descendant. */
struct shiny_process {
	uint32_t state;      /* enum shiny_slot_state, [slot] */
	uint32_t generation; /* times this slot has been claimed */
	uint32_t pid;        /* getpid() in its own namespace */
	int32_t parent_slot; /* -1 for the exec'd image */
	uint32_t parent_generation;
	uint32_t exec;    /* 1: inside a call of exec. If the call does not return, another program
	                   * has replaced this one */
	uint64_t start;   /* ticks when the slot was claimed */
	uint64_t fork_at; /* ticks of the parent's last record in the memory that this process
	                   * inherited */
	uint64_t exit_at; /* ticks when it announced its end; 0: it has not, or not yet */
	uint32_t exit_status; /* 0 to 255, valid with exit_at */
	uint32_t parent_pid;  /* getppid() in its own namespace, of the exec'd image; else 0 */
	uint32_t waits;       /* number of times that a thread has begun to wait for a chunk, or to
	                       * ask whether it has a filter */
	uint32_t may_sleep;   /* [ctl] the value of `waits` for which the sidecar has found no
	                       * seccomp filter on any of its threads */
	uint32_t snapshots_wanted; /* [ctl] number of times that a thread has begun to wait for a
	                            * heap snapshot */
	uint32_t snapshots_taken;  /* [ctl] the value of `snapshots_wanted` that the sidecar has
	                            * answered */
	uint32_t looked;           /* [ctl] the value of `waits` for which the sidecar has looked;
	                            * written after may_sleep */
	uint32_t unused;
	uint64_t counters[SHINY_COUNTERS];
	uint64_t spare[32 - 10 - SHINY_COUNTERS];
};

/*
 * Lies at header.self_at in the memory of every process that shares this ring, and says which slot
 * the process holds. It is zero in a process without a slot, and in a new forked child: the kernel
 * wipes the page in each child. So a reader of /proc/PID/mem can prove which process is which,
 * where a pid cannot (each sandboxed renderer is number 1).
 */
struct shiny_self {
	uint32_t generation; /* 0: no slot */
	uint32_t slot;
};

/*
 * A notice is a process's message about other programs: it is about to become one (exec), it starts
 * one (spawn), a child of its own has ended. Notices are a ring: number n is at [(n - 1) %
 * SHINY_NOTICES], header.notices is the highest number taken. Every process that maps the ring may
 * write, including children without a slot and those that share memory with their parent.
 *   [notice] number: 0 first, then the other fields, then n by release. A reader loads it by
 *   acquire, copies, and loads it again: the same number twice is a whole notice. state and pid of
 *   a start may change later, in this order of stores: pid, state.
 */
enum shiny_notice_kind {
	SHINY_NOTICE_NONE = 0,
	SHINY_NOTICE_EXEC = 1,
	SHINY_NOTICE_SPAWN = 2,
	SHINY_NOTICE_ENDED = 3
};
enum shiny_notice_state { SHINY_NOTICE_BEGUN = 0, SHINY_NOTICE_DONE = 1, SHINY_NOTICE_FAILED = 2 };
enum {
	/* flag: the program's environment loads the library */
	SHINY_NOTICE_PRELOADS = 1,
	SHINY_NOTICE_BY_DESCRIPTOR = 2, /* flag: exec was given a descriptor; the path is argv[0],
	                                 * or relative to a directory */
	/* flag: the program can't find the library, so that environment doesn't name it */
	SHINY_NOTICE_NO_LIBRARY = 4,
	SHINY_NOTICE_UNREADABLE = 8, /* flag: likewise, its user may not read the library */
	SHINY_NOTICE_FILTERED = 16,  /* flag: likewise, it inherits a seccomp filter */
	/* flag: the path (which is then empty) or the environment lies in memory that the library
	 * does not know, so it was not read */
	SHINY_NOTICE_UNREAD = 32,
	SHINY_NOTICE_PATH = 136,
};
struct shiny_notice {
	uint64_t number;     /* [notice] */
	uint64_t time;       /* ticks */
	uint32_t slot;       /* process slot of the writer, or of its nearest ancestor that has one;
	                      * UINT32_MAX: none */
	uint32_t generation;
	uint32_t kind;       /* enum shiny_notice_kind */
	uint32_t state;      /* enum shiny_notice_state; of exec, DONE is never seen: the writer's
	                      * memory is gone */
	uint32_t pid;        /* of the program or child, in the writer's pid namespace; 0:
	                      * unknown */
	uint32_t flags;
	int32_t status;      /* ENDED: the status that wait() returns */
	uint32_t path_bytes; /* bytes of the path; one that is longer than the field has lost its
	                      * beginning */
	uint64_t spare;
	char path[SHINY_NOTICE_PATH];
};

enum { SHINY_THREAD_NAME = 16 }; /* bytes of a kernel thread name with its zero */

/* A stream of records: one for each thread, and one more for each nested signal handler that
 * interrupted its writing. */
struct shiny_thread {
	uint32_t state; /* enum shiny_slot_state, [slot] */
	uint32_t generation;
	uint32_t process_slot;
	uint32_t tid;     /* gettid() in its own namespace */
	uint32_t creator; /* slot + 1 of the thread that called pthread_create; 0: unknown or the
	                   * main thread */
	uint32_t nested;  /* 1: a stream of handlers that interrupted another stream of this tid */
	uint64_t start;   /* ticks */
	uint64_t stack;       /* an address in its stack */
	uint64_t stack_bytes; /* 0: unknown */
	uint64_t tls;         /* its thread pointer */
	char name[SHINY_THREAD_NAME]; /* the name that the thread set; zeros: none yet */
	uint64_t spare[7];
};

/* A chunk's state word: its owner and phase. Only the edges of ring.h change it. */
enum shiny_chunk_phase {
	SHINY_CHUNK_FREE = 0,
	SHINY_CHUNK_OPEN = 1, /* its owner appends */
	SHINY_CHUNK_FULL = 2, /* its owner has sealed it */
	/* the file has no space for it yet: touching it could be a SIGBUS */
	SHINY_CHUNK_ABSENT = 3,
};
/*   63 ─── 32 31 ────── 8 7 ── 0
 *   sequence   thread slot  phase     sequence: 0, 1, 2, … within one generation of the thread slot
 */
#define SHINY_CHUNK_STATE(phase, thread, sequence) \
	((uint64_t)(sequence) << 32 | (uint64_t)(thread) << 8 | (uint64_t)(phase))
#define SHINY_CHUNK_PHASE(word)    ((unsigned)((word) & 0xff))
#define SHINY_CHUNK_THREAD(word)   ((uint32_t)((word) >> 8 & 0xffffff))
#define SHINY_CHUNK_SEQUENCE(word) ((uint32_t)((word) >> 32))

struct shiny_chunk {
	uint64_t base; /* ticks; the time base until the first TIME record */
	uint32_t thread_slot;
	uint32_t thread_generation;
	uint32_t process_slot;
	uint32_t process_generation;
	uint32_t taken; /* [taken] written by the sidecar: the number of records whose events are in
	                 * a session file, or were lost with a killed sidecar; no reader takes their
	                 * events again */
	uint32_t unused;
	uint64_t spare[4];
	struct shiny_record records[]; /* [pub]; as many as the chunk's size has room for, all zero
	                                * beyond the published part */
};

enum shiny_clock { SHINY_CLOCK_TSC = 0, SHINY_CLOCK_MONOTONIC = 1 };

/* The way in which the program's allocator was hooked. */
enum shiny_attach {
	SHINY_ATTACH_NONE = 0,      /* nothing hooked: attach_text says why */
	SHINY_ATTACH_SYMBOLS = 1,   /* symbol interposition */
	SHINY_ATTACH_PARTITION = 2, /* PartitionAlloc's dispatch chain */
	SHINY_ATTACH_ENTRIES = 3,   /* patched entries of its functions */
};

enum {
	SHINY_TEXT = 512,
	SHINY_COMMAND = 1024,
	SHINY_OWN = 4,
	SHINY_STARTED_AS = SHINY_NOTICE_PATH + 8,
};

struct shiny_header {
	uint64_t magic;
	uint32_t version;
	uint32_t header_bytes;
	uint64_t layout; /* shiny_layout() */
	uint64_t ring_bytes;
	/* offsets from the start of the file, bytes */
	uint64_t notices_at, processes_at, threads_at, states_at, smalls_at, chunks_at;
	uint32_t processes, threads, smalls, chunks; /* chunks: of both sizes, the small ones come
	                                              * first */
	uint32_t small_bytes, chunk_bytes;
	uint32_t ready; /* [ready] 1 when all of the above and below is filled in */
	uint32_t clock; /* enum shiny_clock: what a tick is */
	uint64_t start_ticks;    /* these three clocks were read together when the ring was
	                          * created */
	uint64_t start_realtime; /* ns since 1970 */
	uint64_t start_boottime; /* ns, CLOCK_BOOTTIME */
	uint64_t ticks_per_second; /* 0: the library does not know, the sidecar measures it */
	uint32_t pid;
	uint32_t attach; /* enum shiny_attach */
	uint32_t depth, free_depth;
	uint8_t boot_id[16]; /* the kernel's boot id: a ring with another one was left behind by a
	                      * reboot */
	uint64_t self_at; /* address of each process's struct shiny_self; 0: there is none */
	uint64_t pid_namespace; /* inode of the namespace that `pid` counts in; 0: unknown */
	uint64_t sample; /* SHINY_SAMPLE, bytes (sample_weight.h) */
	/* control words: written by the sidecar or shinyctl, read by hooks, in a cache line of
	 * their own */
	_Alignas(64) uint32_t recording; /* [ctl] 1: hooks record */
	uint32_t flush;          /* [ctl] incremented by the sidecar: each process sweeps its
	                          * nursery once for each value */
	uint32_t sidecar_pid;  /* 0: none yet */
	uint32_t processes_ready, threads_ready; /* [grow] slots whose space is allocated: touching
	                                          * others could be a SIGBUS */
	uint32_t uncommitted;    /* [taken] written by the sidecar: chunks that it has freed but not
	                          * yet committed */
	uint64_t sidecar_beat; /* [ctl] ticks of the sidecar's last drain, by which a waiting writer
	                        * notices a dead sidecar */
	uint64_t given;          /* [give] counts what the sidecar frees or allocates; a waiting
	                          * writer looks again when it changes */
	uint32_t sidecar_low;    /* [ctl] 1: the sidecar yields, and may be late if others run */
	uint32_t sample_level;   /* [ctl] the sample's level (sample_weight.h) */

	/* shared by writers; lines of their own */
	/* no small or large chunk below this index is likely to be free: a hint, any value is
	 * safe */
	_Alignas(64) uint32_t chunk_hint[2];
	uint32_t process_hint, thread_hint;  /* likewise of slots */
	uint32_t processes_used, threads_used; /* the highest slot that was ever claimed, plus
	                                        * one */
	uint64_t notices; /* [notice] */
	_Alignas(64) uint64_t counters[SHINY_COUNTERS]; /* of processes without a slot */

	_Alignas(64) char executable[SHINY_TEXT];  /* path of the executable */
	char command[SHINY_COMMAND];  /* its arguments, separated by zeros, cut to fit */
	char started_as[SHINY_STARTED_AS]; /* the path that exec was given (AT_EXECFN), of which the
	                                    * end is kept; "": unknown */
	char attach_text[SHINY_TEXT]; /* how the allocator was hooked, or why not, in words, with
	                               * the evidence */
	char notes[SHINY_TEXT];       /* one line for each invalid environment variable: its value,
	                               * and the one used instead */
	struct { uint64_t start, end; } own[SHINY_OWN]; /* the library's own mappings beside the
	                                                 * ring: not the program's memory */
};

/* ---- offsets.def: what must be the same on both sides ---- */

#define SHINY_STRUCT(name, bytes) \
	_Static_assert(sizeof(struct shiny_##name) == (bytes), #name);
#define SHINY_FIELD(name, field, offset) \
	_Static_assert(offsetof(struct shiny_##name, field) == (offset), #name "." #field);
#define SHINY_LIMIT(name, value) _Static_assert(name == (value), #name);
#include <shiny/wire/offsets.def>
#undef SHINY_STRUCT
#undef SHINY_FIELD
#undef SHINY_LIMIT

/* The signature in a ring's header: FNV-1a over offsets.def, as the compiler sees it. */
static inline uint64_t shiny_layout(void)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

#define SHINY_MIX(value) hash = (hash ^ (uint64_t)(value)) * UINT64_C(0x100000001b3);
#define SHINY_STRUCT(name, bytes) SHINY_MIX(sizeof(struct shiny_##name))
#define SHINY_FIELD(name, field, offset) SHINY_MIX(offsetof(struct shiny_##name, field))
#define SHINY_LIMIT(name, value) SHINY_MIX(name)
#include <shiny/wire/offsets.def>
#undef SHINY_STRUCT
#undef SHINY_FIELD
#undef SHINY_LIMIT
#undef SHINY_MIX
	return hash;
}

/* Payloads are whole records, and chunks are full of them. */
_Static_assert(sizeof(struct shiny_wide) % SHINY_RECORD_BYTES == 0, "wide");
_Static_assert(sizeof(struct shiny_map) % SHINY_RECORD_BYTES == 0, "map");
_Static_assert(sizeof(struct shiny_object_kinds) % SHINY_RECORD_BYTES == 0, "object kinds");
_Static_assert(sizeof(struct shiny_class) % SHINY_RECORD_BYTES == 0, "class");
_Static_assert(sizeof(struct shiny_tag) % SHINY_RECORD_BYTES == 0, "tag");
_Static_assert(sizeof(struct shiny_pool) % SHINY_RECORD_BYTES == 0, "pool");
_Static_assert(sizeof(struct shiny_module) % SHINY_RECORD_BYTES == 0, "module");
_Static_assert(SHINY_CLASS_NAME_MAX % SHINY_RECORD_BYTES == 0, "class name");
_Static_assert(SHINY_TAG_NAME_MAX % SHINY_RECORD_BYTES == 0, "tag name");
_Static_assert(SHINY_SMALL_RECORDS * SHINY_RECORD_BYTES + 64 == SHINY_SMALL_BYTES, "small chunk");
_Static_assert(SHINY_CHUNK_RECORDS * SHINY_RECORD_BYTES + 64 == SHINY_CHUNK_BYTES, "large chunk");

/* Words that different sides write have a cache line of their own; the header fits its page. */
_Static_assert(offsetof(struct shiny_header, recording) % 64 == 0, "control words");
_Static_assert(offsetof(struct shiny_header, chunk_hint) % 64 == 0, "the writers' shared words");
_Static_assert(sizeof(struct shiny_header) <= 4096, "the header's page");

/* Codes and fields fit their bits. */
_Static_assert(SHINY_REC_KINDS <= 1 << SHINY_KIND_BITS, "record kinds");
_Static_assert(SHINY_APIS <= 1 << SHINY_API_BITS, "functions");
_Static_assert(SHINY_ADDRESS_SHIFT + 47 - SHINY_GRANULE_SHIFT == 64, "an address fills w0");
_Static_assert(SHINY_DT_SHIFT + SHINY_DT_BITS == 64, "the fields fill w1");
_Static_assert(SHINY_OBJECT_WIDE_SHIFT + SHINY_OBJECT_INDEX_BITS <= 64, "so do an object's");

#endif
