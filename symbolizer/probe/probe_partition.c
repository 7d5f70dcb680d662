/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_partition.c: see probe_partition.h.
 *
 * An executable with PartitionAlloc exports malloc and its like. Each loads one and the same
 * variable, which points to a table of functions, and calls or jumps through a slot of the table:
 * mov head(%rip),%rax; mov 8(%rax),%rax; … jmp *%rax. The library reads the same from the code in
 * memory, by a decoder that knows only the instructions of these functions
 * (interpose/patch/slot_code.c), and acts on that alone; this result tells people beforehand
 * whether it will, and is found by other means, so that each checks the other.
 *
 * The meaning of slots that no exported function uses depends on versions:
 * interpose/chromium/partition_layouts.c.
 */
#include "probe_partition.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "probe_walk.h"
#include "../elf/symtab.h"

enum { WORD = 8, NEEDED = 6 };

/* In the order of the report. Of functions that do the same one is enough. */
static const char *const exported[] = {
	"malloc",
	"_Znwm",
	"_ZnwmRKSt9nothrow_t",
	"calloc",
	"memalign",
	"posix_memalign",
	"_ZnwmSt11align_val_t",
	"realloc",
	"free",
	"_ZdlPv",
	"_ZdlPvm",
	"_ZdlPvSt11align_val_t",
	"_ZdlPvmSt11align_val_t",
	"malloc_usable_size",
};
enum { EXPORTED = sizeof(exported) / sizeof(*exported) };
_Static_assert((int)EXPORTED <= (int)SHINY_PROBE_SLOTS, "each has room in the result");

struct through {
	uint64_t head;
	uint64_t offset;
	bool calls;
};

/* Accepts the first call or jump through a word in a table that a variable points to. */
static bool goes_through(const struct walk_way *way, const struct flow_instruction *in,
			 void *context)
{
	struct through *out = context;
	const ZydisDecodedOperand *target = &in->operands[0];
	struct eval_value value;

	if (target->type == ZYDIS_OPERAND_TYPE_MEMORY)
		value = eval_operand(&way->eval, in, target);
	else if (target->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		 eval_register(target->reg.value) >= 0)
		value = way->eval.reg[eval_register(target->reg.value)];
	else
		return false;
	if (value.kind != EVAL_FIELD || value.add % WORD)
		return false;
	*out = (struct through){ value.at, (uint64_t)value.add,
				 in->decoded.meta.category == ZYDIS_CATEGORY_CALL };
	return true;
}

static uint64_t find_exported(const struct symtab *table, const char *name)
{
	for (size_t i = 0; i < table->functions.count; i++)
		if (!strcmp(table->functions.at[i].name, name))
			return table->functions.at[i].value;
	return 0;
}

/* True if `head` points to a table in the file with functions in the slots. It is the first table;
 * at run time others may precede it. */
static bool has_table(const struct binary *file, struct reloc_index *relocs,
		      const struct shiny_probe_file *found)
{
	struct word table = reloc_word(relocs, found->chain_head);

	for (uint32_t i = 0; i < found->slot_count && table.kind == WORD_ADDRESS; i++) {
		struct word function = reloc_word(relocs, table.value + found->slots[i].offset);

		if (function.kind != WORD_ADDRESS || !(binary_flags(file, function.value) & PF_X))
			return false;
	}
	return table.kind == WORD_ADDRESS;
}

/* Writes the slots by number: "malloc 0, calloc 2, …". */
static void slots_text(struct probe_draft *draft, char *out, size_t room)
{
	size_t used = 0;

	out[0] = 0;
	for (uint32_t i = 0; i < draft->head.slot_count && used < room; i++)
		used += (size_t)snprintf(out + used, room - used, "%s%s %u", i ? ", " : "",
					 draft->text.at + draft->head.slots[i].entry,
					 draft->head.slots[i].offset / WORD);
}

static void read_entries(const struct eval_world *world, const struct symtab *table,
			 struct probe_draft *draft)
{
	struct shiny_probe_file *head = &draft->head;
	struct walker walker;

	for (size_t i = 0; i < EXPORTED; i++) {
		uint64_t vaddr = find_exported(table, exported[i]);
		struct through through;

		if (!vaddr || !walk_function(&walker, world, vaddr, NULL, goes_through, &through))
			continue;
		if (head->chain_head && head->chain_head != through.head) {
			probe_draft_note(draft, "partition", SHINY_PROBE_UNKNOWN,
					 "%s goes through another table than the others",
					 exported[i]);
			head->chain_head = 0;
			head->slot_count = 0;
			return;
		}
		head->chain_head = through.head;
		head->slots[head->slot_count++] =
			(struct shiny_probe_slot){ .entry = probe_draft_text(draft, exported[i]),
						   .offset = (uint16_t)through.offset,
						   .calls = through.calls };
	}
}

static uint16_t slot_of(const struct probe_draft *draft, const char *name)
{
	for (uint32_t i = 0; i < draft->head.slot_count; i++)
		if (!strcmp(draft->text.at + draft->head.slots[i].entry, name))
			return draft->head.slots[i].offset;
	return UINT16_MAX;
}

void probe_partition(const struct binary *file, struct reloc_index *relocs,
		     struct probe_draft *draft)
{
	const struct eval_world world = { .file = file };
	struct shiny_probe_file *head = &draft->head;
	struct symtab table = { .failed = false };
	Elf64_Shdr section;
	char slots[400];

	if (!binary_section_typed(file, SHT_DYNSYM, &section))
		return;
	symtab_add(&table, file, &section);
	if (find_exported(&table, "malloc") && find_exported(&table, "free"))
		read_entries(&world, &table, draft);
	symtab_deinit(&table);
	if (!head->slot_count)
		return;
	/* malloc's slot is not free's; the operators share the functions' slots */
	if (head->slot_count < NEEDED || slot_of(draft, "malloc") == slot_of(draft, "free") ||
	    slot_of(draft, "malloc") != slot_of(draft, "_Znwm") ||
	    slot_of(draft, "free") != slot_of(draft, "_ZdlPv") || !has_table(file, relocs, head)) {
		probe_draft_note(
			draft, "partition", SHINY_PROBE_UNKNOWN,
			"%u exported functions go through a table, but not as PartitionAlloc's do",
			head->slot_count);
		head->chain_head = 0;
		head->slot_count = 0;
		return;
	}
	head->chain_confidence = SHINY_PROBE_EXACT;
	probe_draft_note(draft, "partition", SHINY_PROBE_EXACT,
			 "the dispatch chain begins at 0x%" PRIx64
			 ": %u exported functions go through it",
			 head->chain_head, head->slot_count);
	slots_text(draft, slots, sizeof(slots));
	probe_draft_note(draft, "partition", SHINY_PROBE_EXACT, "%s", slots);
}
