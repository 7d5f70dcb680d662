/* SPDX-License-Identifier: Apache-2.0 */
/*
 * snapshot.h: reads V8's heap snapshot as a stream and counts objects and bytes by kind and name.
 *
 * Runs: CLI. Signals: no. Allocates: 40 bytes for each different (kind, name), up to SNAPSHOT_ROWS;
 * never the text. Threads: one a snapshot.
 *
 * A snapshot is {"snapshot": {"meta": …}, "nodes": […], "edges": […], …, "strings": […]}. A node is
 * a few numbers, named by meta.node_fields: its kind is an index into meta.node_types[0], its name
 * an index into strings, which come last. So nodes are summed by the two numbers, and names are
 * filled in as the strings arrive. Kinds whose names are their contents, such as strings and
 * numbers, are counted without names.
 */
#ifndef SHINY_SNAPSHOT_H
#define SHINY_SNAPSHOT_H

#include "../base/hash_table.h"
#include "counts.h"
#include "json_stream.h"

enum { SNAPSHOT_ROWS = 2000000, SNAPSHOT_FIELDS = 16, SNAPSHOT_KINDS = 64 };

struct snapshot_row {
	uint32_t kind, name; /* the snapshot's numbers; name SNAPSHOT_NAMELESS: its kind is counted
	                      * without names */
	uint64_t count, bytes;
};
#define SNAPSHOT_NAMELESS UINT32_MAX

enum snapshot_part {
	SNAPSHOT_OTHER,
	SNAPSHOT_NODE_FIELDS,
	SNAPSHOT_NODE_TYPES,
	SNAPSHOT_NODES,
	SNAPSHOT_STRINGS
};

struct snapshot {
	struct json_stream json;
	struct counts *counts;
	struct counts_dump *dump;
	enum snapshot_part part;
	/* a node's fields; SNAPSHOT_FIELDS: there is no such field */
	unsigned field_count, type_field, name_field, size_field;
	unsigned kind_count;
	uint32_t kinds[SNAPSHOT_KINDS]; /* indexes of counts->names, plus 1 */
	bool nameless[SNAPSHOT_KINDS];
	uint64_t node[SNAPSHOT_FIELDS]; /* the node being read */
	unsigned field;
	uint64_t nodes;
	VEC(struct snapshot_row) rows;  /* sorted by name once the strings begin */
	struct hash_table table;        /* of rows, until then */
	size_t next_row;
	uint64_t next_string;
	bool named;                     /* the strings have begun */
};

/* Adds a dump to `counts`, which snapshot_end fills. */
void snapshot_init(struct snapshot *snapshot, struct counts *counts);
bool snapshot_feed(struct snapshot *snapshot, const char *text, size_t length);
SHINY_MUST_CHECK struct shiny_err *snapshot_end(struct snapshot *snapshot);
void snapshot_deinit(struct snapshot *snapshot);

#endif
