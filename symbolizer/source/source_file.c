/* SPDX-License-Identifier: Apache-2.0 */
/*
 * source_file.c: see source_file.h.
 *
 * The file has a header, the functions, the titles, the callees, the anchors, and the labels of
 * code rules, in their form in memory; other rules make it invalid. The checksum finds damage, not
 * malice; only the user can write the directory. Content out of order or with overlaps is refused;
 * an address that the program's file does not have finds nothing.
 */
#include "source_file.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../src/base/cleanup.h"
#include "../elf/cache_file.h"

#define MAGIC UINT64_C(0x3143525359484853) /* "SHHYSRC1" */
/* VERSION goes up when the format, or what is found, changes. */
enum { VERSION = 8, FILE_MAX = 256 << 20 };

struct source_file_header {
	uint64_t magic, checksum; /* XXH3 of all that follows the checksum */
	uint32_t version, build_id_bytes;
	uint8_t build_id[BINARY_BUILD_ID_MAX];
	uint64_t functions, titles, callees, anchors, labels;
	uint64_t rules; /* code_rules_hash() */
	uint64_t inlined;
};

char *source_file_path(const struct binary *file, const char *cache_dir)
{
	return cache_file_path(cache_dir, "sources", file->build_id, file->build_id_bytes, "");
}

static uint64_t checksum(const uint8_t *data, size_t bytes)
{
	size_t skip = offsetof(struct source_file_header, version);

	return XXH3_64bits(data + skip, bytes - skip);
}

static bool parts_in_order(const struct source_function *parts, uint64_t count)
{
	for (uint64_t i = 0; i < count; i++)
		if (parts[i].low > parts[i].high || (i && parts[i].low < parts[i - 1].high))
			return false;
	return true;
}

static bool in_order(const struct source_callee *callees, uint64_t callee_count,
		     const struct source_anchor *anchors, uint64_t anchor_count,
		     const struct code_label *labels, uint64_t label_count)
{
	for (uint64_t i = 1; i < callee_count; i++)
		if (callees[i].start <= callees[i - 1].start)
			return false;
	for (uint64_t i = 1; i < anchor_count; i++)
		if (anchors[i].code < anchors[i - 1].code)
			return false;
	for (uint64_t i = 0; i < label_count; i++)
		if (labels[i].low > labels[i].high || labels[i].rule >= code_rules_count())
			return false;
	return true;
}

bool source_file_read(const char *path, const struct binary *file,
		      struct source_functions *functions, struct source_callees *callees,
		      struct code_labels *labels)
{
	struct source_file_header head;
	size_t bytes;
	AUTO_FREE uint8_t *data = cache_file_read(path, sizeof(head), FILE_MAX, &bytes);
	const struct source_function *f, *t;
	const struct source_callee *c;
	const struct source_anchor *a;
	const struct code_label *l;

	if (!data)
		return false;
	memcpy(&head, data, sizeof(head));
	if (head.magic != MAGIC || head.version != VERSION ||
	    head.build_id_bytes != file->build_id_bytes ||
	    memcmp(head.build_id, file->build_id, sizeof(head.build_id)) != 0 ||
	    head.functions > FILE_MAX || head.titles > FILE_MAX || head.callees > FILE_MAX ||
	    head.anchors > FILE_MAX || head.labels > code_rules_count() ||
	    head.rules != code_rules_hash() ||
	    bytes != sizeof(head) + (head.functions + head.titles) * sizeof(*f) +
			     head.callees * sizeof(*c) + head.anchors * sizeof(*a) +
			     head.labels * sizeof(*l) ||
	    head.checksum != checksum(data, bytes))
		return false;
	f = (const void *)(data + sizeof(head));
	t = f + head.functions;
	c = (const void *)(t + head.titles);
	l = (const void *)(data + bytes - head.labels * sizeof(*l));
	a = (const void *)((const uint8_t *)l - head.anchors * sizeof(*a));
	if (!parts_in_order(f, head.functions) || !parts_in_order(t, head.titles) ||
	    !in_order(c, head.callees, a, head.anchors, l, head.labels))
		return false;
	functions->inlined = head.inlined;
	for (uint64_t i = 0; i < head.functions; i++)
		*vec_push(&functions->all) = f[i];
	for (uint64_t i = 0; i < head.titles; i++)
		*vec_push(&functions->titles) = t[i];
	for (uint64_t i = 0; i < head.callees; i++)
		*vec_push(&callees->all) = c[i];
	for (uint64_t i = 0; i < head.anchors; i++)
		*vec_push(&functions->anchors) = a[i];
	for (uint64_t i = 0; i < head.labels; i++)
		*vec_push(&labels->all) = l[i];
	return true;
}

void source_file_write(const char *path, const struct binary *file,
		       const struct source_functions *functions,
		       const struct source_callees *callees, const struct code_labels *labels)
{
	struct source_file_header head = { .magic = MAGIC,
					   .version = VERSION,
					   .build_id_bytes = (uint32_t)file->build_id_bytes,
					   .functions = functions->all.count,
					   .titles = functions->titles.count,
					   .callees = callees->all.count,
					   .anchors = functions->anchors.count,
					   .labels = labels->all.count,
					   .rules = code_rules_hash(),
					   .inlined = functions->inlined };
	size_t function_bytes = functions->all.count * sizeof(*functions->all.at),
	       title_bytes = functions->titles.count * sizeof(*functions->titles.at),
	       callee_bytes = callees->all.count * sizeof(*callees->all.at),
	       anchor_bytes = functions->anchors.count * sizeof(*functions->anchors.at),
	       label_bytes = labels->all.count * sizeof(*labels->all.at),
	       bytes = sizeof(head) + function_bytes + title_bytes + callee_bytes + anchor_bytes +
		       label_bytes;
	AUTO_FREE uint8_t *data = mem_zero(1, bytes);

	memcpy(head.build_id, file->build_id, sizeof(head.build_id));
	memcpy(data, &head, sizeof(head));
	if (function_bytes)
		memcpy(data + sizeof(head), functions->all.at, function_bytes);
	if (title_bytes)
		memcpy(data + sizeof(head) + function_bytes, functions->titles.at, title_bytes);
	if (callee_bytes)
		memcpy(data + sizeof(head) + function_bytes + title_bytes, callees->all.at,
		       callee_bytes);
	if (anchor_bytes)
		memcpy(data + bytes - label_bytes - anchor_bytes, functions->anchors.at,
		       anchor_bytes);
	if (label_bytes)
		memcpy(data + bytes - label_bytes, labels->all.at, label_bytes);
	head.checksum = checksum(data, bytes);
	memcpy(data, &head, sizeof(head));
	cache_file_write(path, data, bytes);
}
