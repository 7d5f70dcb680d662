/* SPDX-License-Identifier: Apache-2.0 */
/*
 * mappings.h: the memory of the session's processes beside malloc: who mapped what, and how much of
 * it is resident.
 *
 * Runs: sidecar. Signals: no. Allocates: yes. Threads: one; /proc is read in that of errands.h.
 *
 * Calls come with the records (memory_call) and make each process's table of segments (segments.h).
 * Each SHINY_MEMORY_PERIOD milliseconds a process's /proc/PID/smaps is read: it completes that
 * table and says what is resident. What it says is written for each segment, when it has changed,
 * and its sum for the process.
 *
 * The moment. A look happens at the start of a round: t0, read, T. The round then applies all
 * records up to T (order.h), so that table, blocks and list are of one moment; the ranges of calls
 * between t0 and T are left as the calls say (segments.h: flux). What of the list then belongs to
 * no segment is kept in one of its own, [0, 0), so that the sums are always the kernel's. A list
 * that the kernel does not give out at once (errands.h) is that of a later round, which then is the
 * look's moment.
 *
 * The cost. Reading the list of a Chromium process takes 5 to 10 ms (bench/run looks), for which
 * the loop stands still. So looks are paid from an account that earns 2 % of the time that passes;
 * where the processes are many or large, looks become rarer, the longest unseen first. One in which
 * nothing has happened since its last look (its page faults, sizes and records say) is not read
 * again: that look's sums are written once more. A process is looked at soon after its start too,
 * and again before a second has passed: many live no longer.
 *
 * What it needs: the right to read /proc/PID/smaps, which the kernel gives to whom it would let
 * ptrace (same user, and dumpable). Where it is refused, the process's total is taken from
 * /proc/PID/status and a note says so.
 */
#ifndef SHINY_MAPPINGS_H
#define SHINY_MAPPINGS_H

#include <stdint.h>

#include <shiny/wire/wire.h>

struct memory;       /* of a process */
struct memory_watch; /* of a session */
struct process;
struct session;
struct sym;
struct sym_module;

/* `period` ms; 0: calls only. */
struct memory_watch *memory_watch_create(uint64_t period);
void memory_watch_destroy(struct memory_watch *watch); /* accepts NULL */
struct memory *memory_create(struct memory_watch *watch, uint32_t process);
void memory_destroy(struct memory *memory); /* accepts NULL */

/* A mapping call of the process; `stack` is session-wide. */
void memory_call(struct session *session, struct process *process, const struct shiny_map *map,
		 unsigned call, uint32_t stack, uint64_t time);
void memory_fork(struct session *session, struct process *child, const struct process *parent);

/* Around the merge of a round: look at a process, if one is due; then, at `now`, take in what was
 * seen. */
void memory_look(struct session *session);
void memory_take(struct session *session, uint64_t now);
/* Rows of segments that are new or changed, of the processes that run; and of one that is being
 * closed. */
void memory_write(struct session *session);
void memory_end(struct session *session, struct process *process);
/* The last of it: owners by the functions of the mapping calls too. `modules` by id, opened. */
void memory_finish(struct session *session, struct sym_module **modules);

#endif
