/* SPDX-License-Identifier: Apache-2.0 */
/*
 * epilogue.c: where a frame ends by the code behind a call (interpose/unwind/epilogue.h) is where
 * .eh_frame says that it ends, for each direct call in the C library and other libraries that are
 * loaded. Calls that never return have any code behind them: one answer in two hundred may differ.
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#define _GNU_SOURCE
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "../../interpose/unwind/cfi.h"
#include "../../interpose/unwind/epilogue.h"
#include "../lib/random.h"
#include "../unit/check.h"

enum { FUNCTIONS_MAX = 1 << 17 };

static struct function {
	uintptr_t begin, end;
} functions[FUNCTIONS_MAX];
static size_t function_count;

static void tell(uintptr_t begin, uintptr_t end)
{
	if (function_count < FUNCTIONS_MAX)
		functions[function_count++] = (struct function){ begin, end };
}

static bool is_function(uintptr_t address)
{
	size_t low = 0, high = function_count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (functions[middle].begin < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low < function_count && functions[low].begin == address;
}

/* The code and the unwind information of a module. */
static bool view_of(const struct dl_phdr_info *info, struct si_cfi_view *view)
{
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_GNU_EH_FRAME)
			view->table = start;
		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			view->code_low = start;
			view->code_high = start + p->p_filesz;
		}
	}
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD && view->table - start < p->p_filesz) {
			view->low = start;
			view->high = start + p->p_filesz;
		}
	}
	return view->low && view->code_low;
}

static struct {
	uint64_t same, none, different;
} total;

/* By rbp and by rsp one place is said in two forms, which cannot be compared. */
static void one_call(const struct si_cfi_view *view, uintptr_t pc)
{
	uint64_t row = si_epilogue_row(pc, view->code_low, view->code_high),
		 truth = si_cfi_find(view, pc).row;

	if (SI_ROW_KIND(truth) != SI_ROW_SP)
		return;
	/* rsp is a multiple of 16 where a function is called, and so is what a row must lead to */
	if (row == SI_ROW_NONE || (SI_ROW_KIND(row) == SI_ROW_SP && SI_ROW_CFA(row) % 16))
		total.none++;
	else if (row == truth)
		total.same++;
	else if (SI_ROW_KIND(row) == SI_ROW_SP)
		total.different++;
}

static int one_module(struct dl_phdr_info *info, size_t size, void *context)
{
	struct si_cfi_view view = { 0 };

	(void)size;
	(void)context;
	function_count = 0;
	if (!strchr(info->dlpi_name, '/') || !view_of(info, &view) ||
	    !si_cfi_functions(&view, FUNCTIONS_MAX, tell))
		return 0;
	for (size_t f = 0; f < function_count; f++)
		for (uintptr_t at = functions[f].begin; at + 5 < functions[f].end; at++) {
			int32_t distance;

			memcpy(&distance, (const void *)(at + 1), sizeof(distance));
			if (*(const uint8_t *)at == 0xe8 &&
			    is_function(at + 5 + (uintptr_t)(intptr_t)distance))
				one_call(&view, at + 5);
		}
	return 0;
}

/* Bytes of any kind: nothing outside is read, and each row is one that a walk can take. */
static void any_code(void)
{
	enum { BYTES = 300, ROUNDS = 200000 };
	uint8_t *code = malloc(BYTES);
	uint64_t bad = 0, rows = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		static const uint8_t common[] = { 0x5d, 0xc3, 0x48, 0x83, 0xc4, 0x55, 0x74,
						  0xeb, 0xe8, 0x0f, 0x41, 0x5b, 0xc9, 0x8d };
		uint64_t row;

		for (unsigned n = 0; n < BYTES; n++)
			code[n] = next_random() % 2 ? common[next_random() % sizeof(common)]
						    : (uint8_t)next_random();
		row = si_epilogue_row((uintptr_t)code + next_random() % BYTES, (uintptr_t)code,
				      (uintptr_t)code + BYTES);
		rows += row != SI_ROW_NONE;
		bad += row != SI_ROW_NONE &&
		       ((SI_ROW_KIND(row) != SI_ROW_SP && SI_ROW_KIND(row) != SI_ROW_BP) ||
			SI_ROW_CFA(row) < 8 || SI_ROW_CFA(row) % 8 || SI_ROW_SAVED(row) < 8 ||
			SI_ROW_SAVED(row) % 8 ||
			(SI_ROW_KIND(row) == SI_ROW_SP && SI_ROW_SAVED(row) > SI_ROW_CFA(row)));
	}
	free(code);
	checkf("any code", !bad && rows, "%lu of %lu rows are none", bad, rows);
}

int main(void)
{
	dl_iterate_phdr(one_module, NULL);
	printf("# %lu the same, %lu not said, %lu different\n", total.same, total.none,
	       total.different);
	checkf("as .eh_frame says", total.different * 200 <= total.same && total.same > total.none,
	       "%lu the same, %lu not said, %lu different", total.same, total.none,
	       total.different);
	any_code();
	return failures != 0;
}
