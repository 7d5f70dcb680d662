/* SPDX-License-Identifier: Apache-2.0 */
/*
 * code_rules.c: see code_rules.h.
 *
 * A text that two functions name proves nothing: the compiler may have made two of one function, or
 * the other one is unknown. Calls as evidence were tried and rejected: malloc, malloc_usable_size
 * and realloc in one function are V8's zone segments, but in Chromium 156 also 17 other functions
 * of V8.
 */
#define _GNU_SOURCE /* memmem */
#include "code_rules.h"
#include "../../src/base/row_order.h"

#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../flow/flow_calls.h"
#include "../flow/flow_code.h"
#include "../elf/reloc.h"
#include "../names/function_start.h"
#include "../probe/probe_sweep.h"

static const char rules_text[] =
#include "code_rules_text.h"
	;

#define START_OF "start of "

enum { RULES_MAX = 32, HITS_MAX = 64, LEA_BYTES = 7, START_BYTES = 512 };

struct code_rule {
	const char *label, *text;
	size_t label_bytes, text_bytes;
	uint64_t vaddr; /* address of the text; 0: it is missing, or there are two */
};
struct code_hit {
	uint64_t code, text;
};
struct code_search {
	struct code_hit at[SWEEP_WORKERS][HITS_MAX];
	size_t count[SWEEP_WORKERS];
};

static size_t read_rules(struct code_rule rules[RULES_MAX])
{
	size_t count = 0;

	for (const char *line = rules_text, *end; *line && count < RULES_MAX; line = end + 1) {
		const char *bar = strstr(line, " | ");

		end = line + strcspn(line, "\n");
		if (*line == '#' || !bar || bar > end)
			continue;
		rules[count++] = (struct code_rule){ .label = line,
						     .label_bytes = (size_t)(bar - line),
						     .text = bar + 3,
						     .text_bytes = (size_t)(end - bar - 3) };
	}
	return count;
}

uint64_t code_rules_count(void)
{
	struct code_rule rules[RULES_MAX];

	return read_rules(rules);
}

uint64_t code_rules_hash(void)
{
	return XXH3_64bits(rules_text, sizeof(rules_text));
}

/* Finds the text as a whole string, if there is only one. */
static void find_text(const struct binary *file, struct code_rule *rule)
{
	bool several = false;

	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		uint64_t bytes = binary_room(file, segment->p_vaddr);
		const uint8_t *data = binary_at(file, segment->p_vaddr, bytes), *at = data,
			      *end = data ? data + bytes : NULL;

		if (!binary_holds_constants(file, segment) || !data)
			continue;
		for (; (at = memmem(at, (size_t)(end - at), rule->text, rule->text_bytes)); at++) {
			if (at + rule->text_bytes >= end || at[rule->text_bytes] ||
			    (at > data && at[-1]))
				continue;
			several |= rule->vaddr != 0;
			rule->vaddr = segment->p_vaddr + (uint64_t)(at - data);
		}
	}
	if (several)
		rule->vaddr = 0;
}

static bool take(void *context, unsigned worker, uint64_t vaddr, uint64_t address)
{
	struct code_search *search = context;

	search->at[worker][search->count[worker]++] = (struct code_hit){ vaddr, address };
	return search->count[worker] < HITS_MAX;
}

/* Finds the one function that names the text. */
static bool find_function(const struct flow_code *code, const struct code_search *search,
			  uint64_t text, struct code_label *out)
{
	bool found = false;

	for (size_t w = 0; w < SWEEP_WORKERS; w++)
		for (size_t i = 0; i < search->count[w]; i++) {
			const struct code_hit *hit = &search->at[w][i];
			uint64_t low, high;

			if (hit->text != text)
				continue;
			/* function_part() needs an instruction's last byte */
			if (!function_part(code, hit->code + LEA_BYTES - 1, &low, &high) ||
			    (found && out->low != low))
				return false;
			out->low = low;
			out->high = high;
			found = true;
		}
	return found;
}

/* Returns the library whose start the rule is about; NULL: the rule is about a text. */
static const char *start_of(const struct code_rule *rule, size_t *bytes)
{
	const size_t mark = sizeof(START_OF) - 1;

	if (rule->text_bytes <= mark || memcmp(rule->text, START_OF, mark) != 0)
		return NULL;
	*bytes = rule->text_bytes - mark;
	return rule->text + mark;
}

/* Returns the return address of the first call that allocates in the code at `vaddr`; 0: there is
 * none. */
static uint64_t first_allocation(const struct flow_code *code, uint64_t vaddr)
{
	ZydisDecodedInstruction instruction;
	struct flow_stream stream;
	uint64_t at = vaddr;

	if (!flow_stream_open(&stream, code, vaddr))
		return 0;
	for (; at < vaddr + START_BYTES && flow_stream_next(&stream, &instruction);
	     at = stream.vaddr) {
		uint64_t target = flow_branch(&instruction, at);
		const char *symbol = NULL;

		if (instruction.meta.category == ZYDIS_CATEGORY_RET)
			break;
		if (target && instruction.meta.category == ZYDIS_CATEGORY_CALL)
			symbol = flow_callee_at(code, target).symbol;
		if (symbol && flow_is_allocation(symbol))
			return stream.vaddr;
	}
	return 0;
}

/* Finds the one function that runs when the library is loaded and allocates. */
static bool find_start(const struct flow_code *code, const char *library, size_t bytes,
		       struct code_label *out)
{
	const char *soname = reloc_soname(code->relocs);
	uint64_t function, ret;
	bool found = false;

	if (!soname || strlen(soname) != bytes || memcmp(soname, library, bytes) != 0)
		return false;
	for (size_t i = 0; (function = reloc_start(code->relocs, i)); i++) {
		ret = first_allocation(code, function);
		if (ret && (found || !function_part(code, ret - 1, &out->low, &out->high)))
			return false;
		found = found || ret;
	}
	return found;
}

static void find_starts(const struct flow_code *code, const struct code_rule *rules, size_t count,
			struct code_labels *out)
{
	for (size_t i = 0; i < count; i++) {
		struct code_label label = { .rule = i };
		size_t bytes;
		const char *library = start_of(&rules[i], &bytes);

		if (library && find_start(code, library, bytes, &label))
			*vec_push(&out->all) = label;
	}
}

void code_labels_find(const struct flow_code *code, struct code_labels *out)
{
	struct code_search search = { .count = { 0 } };
	struct code_rule rules[RULES_MAX];
	uint64_t texts[RULES_MAX];
	size_t count = read_rules(rules), text_count = 0;

	*out = (struct code_labels){ .all = { 0 } };
	find_starts(code, rules, count, out);
	for (size_t i = 0; i < count; i++) {
		size_t bytes;

		if (!start_of(&rules[i], &bytes))
			find_text(code->file, &rules[i]);
		if (rules[i].vaddr)
			texts[text_count++] = rules[i].vaddr;
	}
	if (!text_count)
		return;
	qsort(texts, text_count, sizeof(*texts), order_numbers);
	if (!sweep_code(&(struct probe_sweep){ .file = code->file,
					       .form = SWEEP_ADDRESS,
					       .low = texts[0],
					       .high = texts[text_count - 1] + 1,
					       .only = texts,
					       .only_count = text_count,
					       .place = take,
					       .context = &search }))
		return;
	for (size_t i = 0; i < count; i++) {
		struct code_label label = { .rule = i };

		if (rules[i].vaddr && find_function(code, &search, rules[i].vaddr, &label))
			*vec_push(&out->all) = label;
	}
}

void code_labels_deinit(struct code_labels *labels)
{
	free(labels->all.at);
}

const char *code_labels_at(const struct code_labels *labels, uint64_t vaddr, size_t *length)
{
	struct code_rule rules[RULES_MAX];
	size_t count = labels->all.count ? read_rules(rules) : 0;

	for (size_t i = 0; i < labels->all.count; i++) {
		const struct code_label *label = &labels->all.at[i];

		if (vaddr < label->low || vaddr >= label->high || label->rule >= count)
			continue;
		*length = rules[label->rule].label_bytes;
		return rules[label->rule].label;
	}
	return NULL;
}
