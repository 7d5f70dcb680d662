/* SPDX-License-Identifier: Apache-2.0 */
#include "eh_table.h"

#include <string.h>

/* The encodings that every linker writes: a 4-byte count, and a table of pairs of 4-byte distances
 * from the section's start. */
enum { VERSION = 1, COUNT_UDATA4 = 0x03, TABLE_DATAREL_SDATA4 = 0x3b, HEADER = 12, ENTRY = 8 };

static uint64_t start_of(const uint8_t *table, uint64_t section, uint32_t index)
{
	int32_t distance;

	memcpy(&distance, table + (size_t)index * ENTRY, sizeof(distance));
	return section + (uint64_t)(int64_t)distance;
}

bool eh_table_find(const struct binary *file, uint64_t vaddr, uint64_t *low, uint64_t *high)
{
	Elf64_Shdr section;
	struct binary_bytes bytes;
	uint32_t count, first = 0, last;
	const uint8_t *table;

	if (!binary_section_named(file, ".eh_frame_hdr", &section))
		return false;
	bytes = binary_section_bytes(file, &section);
	if (!bytes.data || bytes.bytes < HEADER || bytes.data[0] != VERSION ||
	    bytes.data[2] != COUNT_UDATA4 || bytes.data[3] != TABLE_DATAREL_SDATA4)
		return false;
	memcpy(&count, bytes.data + 8, sizeof(count));
	table = bytes.data + HEADER;
	if (!count || count > (bytes.bytes - HEADER) / ENTRY ||
	    start_of(table, section.sh_addr, 0) > vaddr)
		return false;
	last = count;
	while (last - first > 1) {
		uint32_t middle = first + (last - first) / 2;

		if (start_of(table, section.sh_addr, middle) <= vaddr)
			first = middle;
		else
			last = middle;
	}
	*low = start_of(table, section.sh_addr, first);
	*high = last < count ? start_of(table, section.sh_addr, last)
			     : *low + binary_room(file, *low);
	return *high > vaddr;
}
