/* SPDX-License-Identifier: Apache-2.0 */
#include "memory.h"

/* clang-format off */
#define SUMS struct memory_sums
#define DETAIL struct memory_detail
#define OWNER struct memory_owner
#define SAMPLE struct memory_sample
#define PROCESS struct memory_process
#define RESULT struct memory_history
const struct field memory_sums_fields[] = {
	{ FIELD_COUNT("segments", SUMS, segments), .tint = TINT_DIM,
	  .help = "ranges of addresses" },
	{ FIELD_BYTES("reserved", SUMS, reserved), .help = "bytes of address space" },
	{ FIELD_BYTES("committed", SUMS, committed), .help = "bytes of it that are accessible" },
	{ FIELD_BYTES("resident", SUMS, rss), .help = "bytes in memory" },
	{ FIELD_BYTES("proportional", SUMS, pss),
	  .help = "the same, shared pages divided by the number of processes" },
	{ FIELD_BYTES("private", SUMS, private),
	  .help = "resident bytes that no other process shares" },
	{ FIELD_BYTES("swap", SUMS, swap), .blank_zero = true,
	  .help = "bytes that are swapped out" },
	{ FIELD_COUNT("live_blocks", SUMS, live_blocks),
	  .help = "live blocks of malloc or of another heap, or objects of the garbage collector" },
	{ FIELD_BYTES("live_bytes", SUMS, live_bytes), .title = "live", .blank_zero = true,
	  .help = "their bytes" },
	FIELD_LAST
};
static const struct field detail_fields[] = {
	{ FIELD_TEXT("detail", DETAIL, detail),
	  .help = "the file, thread, pool or calling module; empty: none" },
	{ FIELD_GROUP(DETAIL, sums, memory_sums_fields) },
	FIELD_LAST
};
static const struct field owner_fields[] = {
	{ FIELD_TEXT("owner", OWNER, owner), .help = "the owner of the memory, such as malloc" },
	{ FIELD_GROUP(OWNER, sums, memory_sums_fields) },
	{ FIELD_ROWS("details", OWNER, details, count, detail_fields),
	  .help = "a part of the owner's memory" },
	FIELD_LAST
};
static const struct field sample_fields[] = {
	{ FIELD_TIME("at_ns", SAMPLE, time), .help = "when it was taken" },
	{ FIELD_BYTES("resident", SAMPLE, rss), .help = "resident bytes of the process" },
	FIELD_LAST
};
static const struct field process_fields[] = {
	{ FIELD_ID("id", PROCESS, id), .help = "the number of the process in the session" },
	{ FIELD_ID("pid", PROCESS, pid), .help = "its pid" },
	{ FIELD_TEXT("name", PROCESS, name), .help = "its role, or its program" },
	{ FIELD_TIME("at_ns", PROCESS, time), .help = "when the sample was taken" },
	{ FIELD_COUNT("areas", PROCESS, areas),
	  .help = "mappings that the kernel listed; 0: only the sum could be read" },
	{ FIELD_GROUP(PROCESS, sums, memory_sums_fields) },
	{ FIELD_ROWS("owners", PROCESS, owners, owner_count, owner_fields), .spread = true,
	  .help = "an owner of the process's memory" },
	{ FIELD_ROWS("samples", PROCESS, samples, sample_count, sample_fields),
	  .help = "a memory sample of the process" },
	FIELD_LAST
};
const struct field memory_fields[] = {
	{ FIELD_TIME("period_ns", RESULT, period), .help = "the time between two samples" },
	{ FIELD_TIME("cost_ns", RESULT, cost),
	  .help = "the processor time that the sidecar took for all samples" },
	{ FIELD_COUNT("unseen", RESULT, unseen), .help = "processes without a sample" },
	{ FIELD_ROWS("processes", RESULT, processes, count, process_fields), .spread = true,
	  .help = "a process" },
	FIELD_LAST
};
