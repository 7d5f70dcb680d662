/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rebind.c: see rebind.h.
 *
 * The relocations of the new modules give the places and names of their references. A reference
 * that is not bound yet leads into its own module's PLT; we bind it, if the real function is libc's
 * and no other module defines the name: then it could not find another one before libc's. For
 * references in pages that the loader has made read-only (RELRO), we make the pages writable with
 * mprotect. The loader has just made the same call, but a constructor of the module may have
 * forbidden it since: so we ask the sidecar whether there is a filter. If there is one, or no
 * sidecar, these references stay unchanged, and that is counted.
 */
#define _GNU_SOURCE
#include "rebind.h"

#include <elf.h>
#include <link.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "hooks.h"
#include "../core/sys.h"
#include "../record/wait.h"
#include "../unwind/symbols.h"

enum { PAGE = 4096, RETURN = 0xc3 };

/* These hooks are written in assembly; their symbols are the real functions'. */
#define SI_HOOK(id, symbol, result, parameters)
#ifndef SHINY_TEST
#define SI_STUB(id, symbol) extern char si_stub_##id[] __asm__(#symbol);
#else
#define SI_STUB(id, symbol) static char si_stub_##id[1];
#endif
#include "hook_list.def"

struct reference {
	const char *symbol;
	uintptr_t real, ours;
};

enum reference_id {
#define SI_HOOK(id, symbol, result, parameters) REFERENCE_##id,
#define SI_STUB(id, symbol) REFERENCE_##id,
#include "hook_list.def"
	REFERENCES
};

struct rebind_look {
	const struct link_map *first; /* the module that was opened */
	bool begun;                   /* that module was met: it and those that follow may be new */
	bool own[REFERENCES];         /* a module other than libc defines the function, too */
	uintptr_t libc, libc_end;
	struct reference references[REFERENCES];
	bool late, back;        /* of si_rebind_all */
	bool asked, may_unlock; /* asked: the sidecar was asked; may_unlock: read-only pages may be
	                         * made writable */
};

static uintptr_t module_of(uintptr_t address, uintptr_t *end)
{
	struct dl_find_object found;

	if (_dl_find_object((void *)address, &found) != 0)
		return *end = 0;
	*end = (uintptr_t)found.dlfo_map_end;
	return (uintptr_t)found.dlfo_map_start;
}

static int named(const struct rebind_look *look, const char *symbol)
{
	for (int i = 0; i < REFERENCES; i++)
		if (si_equal(look->references[i].symbol, symbol))
			return i;
	return -1;
}

static bool read_symbols(const struct dl_phdr_info *info, struct si_symbols *symbols)
{
	return si_symbols_read(si_dynamic_of(info), info->dlpi_addr, symbols) &&
	       (uintptr_t)symbols->table > info->dlpi_addr;
}

/* Finds the pages that the loader has made read-only; none: start = end. */
static void read_only(const struct dl_phdr_info *info, uintptr_t *start, uintptr_t *end)
{
	*start = *end = 0;
	for (unsigned i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_GNU_RELRO) {
			*start = (info->dlpi_addr + info->dlpi_phdr[i].p_vaddr) & -(uintptr_t)PAGE;
			*end = *start + (info->dlpi_phdr[i].p_vaddr % PAGE +
					 info->dlpi_phdr[i].p_memsz) / PAGE * PAGE;
		}
}

static bool may_unlock(struct rebind_look *look)
{
	if (!look->asked)
		look->may_unlock = si_wait_unfiltered();
	look->asked = true;
	return look->may_unlock;
}

static bool write_reference(struct rebind_look *look, uintptr_t *at, uintptr_t value,
			    uintptr_t start, uintptr_t end)
{
	bool locked = (uintptr_t)at >= start && (uintptr_t)at < end;

	if (locked && (!may_unlock(look) ||
		       si_sys(SYS_mprotect, start, end - start, PROT_READ | PROT_WRITE) != 0))
		return false;
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
	if (locked)
		si_sys(SYS_mprotect, start, end - start, PROT_READ);
	return true;
}

static void bind(struct rebind_look *look, const struct dl_phdr_info *info,
		 const struct si_symbols *t, const ElfW(Rela) *rela, size_t bytes)
{
	uintptr_t locked_start, locked_end, module_end;
	uintptr_t module = module_of((uintptr_t)t->table, &module_end);

	read_only(info, &locked_start, &locked_end);
	for (size_t i = 0; i < bytes / sizeof(*rela); i++) {
		const ElfW(Sym) *symbol = &t->table[ELF64_R_SYM(rela[i].r_info)];
		uint32_t type = ELF64_R_TYPE(rela[i].r_info);
		uintptr_t *at = (uintptr_t *)(info->dlpi_addr + rela[i].r_offset), value;
		int found;

		if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT &&
		    (type != R_X86_64_64 || rela[i].r_addend))
			continue;
		found = symbol->st_name ? named(look, t->names + symbol->st_name) : -1;
		if (found < 0 || !look->references[found].real)
			continue;
		value = __atomic_load_n(at, __ATOMIC_RELAXED);
		if (value != look->references[found].real) {
			/* not bound yet, and would find the real function */
			bool waits = type == R_X86_64_JUMP_SLOT && symbol->st_shndx == SHN_UNDEF &&
				     value - module < module_end - module;
			bool of_libc = look->references[found].real - look->libc <
				       look->libc_end - look->libc;

			if (!waits || look->own[found] || look->back ||
			    !(look->late || of_libc))
				continue;
		}
		if (!write_reference(look, at, look->references[found].ours, locked_start,
				     locked_end)) {
			si_count(SHINY_COUNT_MODULES_UNBOUND);
			return;
		}
	}
}

/* True if the module is the one that was opened, or follows it. */
static bool is_new(struct rebind_look *look, const struct dl_phdr_info *info, struct si_symbols *t)
{
	look->begun |= look->first && info->dlpi_addr && info->dlpi_addr == look->first->l_addr;
	return (look->begun || look->late) && read_symbols(info, t) && !si_is_ours(t->table);
}

static int find_definitions(struct dl_phdr_info *info, size_t size, void *context)
{
	struct rebind_look *look = context;
	struct si_symbols t;

	if (!read_symbols(info, &t) || si_is_ours(t.table))
		return 0;
	if ((uintptr_t)t.table - look->libc < look->libc_end - look->libc)
		return 0;
	for (unsigned i = 0; i < REFERENCES; i++) {
		const ElfW(Sym) *found = si_symbols_find(&t, look->references[i].symbol);

		look->own[i] |= (found && (!look->late || t.bias + found->st_value !=
								  look->references[i].real)) ||
				(!t.gnu_hash && !t.hash);
	}
	return 0;
}

static int bind_references(struct dl_phdr_info *info, size_t size, void *context)
{
	struct rebind_look *look = context;
	struct si_symbols t;

	if (is_new(look, info, &t)) {
		bind(look, info, &t, t.rela, t.rela_bytes);
		bind(look, info, &t, t.plt, t.plt_bytes);
	}
	return 0;
}

static void find_references(struct rebind_look *look)
{
#define SI_HOOK(id, name, result, parameters) \
	look->references[REFERENCE_##id] = (struct reference){                \
		#name, si_unguarded((uintptr_t)si_next.id),                   \
		(uintptr_t)si_hook_##id };
#define SI_STUB(id, name) \
	look->references[REFERENCE_##id] = (struct reference){                \
		#name, (uintptr_t)si_next_##id, (uintptr_t)si_stub_##id };
#include "hook_list.def"
	look->libc = module_of((uintptr_t)si_libc()->l_ld, &look->libc_end);
}

void si_scope_opened(const void *handle)
{
	struct rebind_look look = { .first = handle };

	if (!handle)
		return;
	find_references(&look);
	dl_iterate_phdr(find_definitions, &look);
	dl_iterate_phdr(bind_references, &look);
}

/* Makes the pages of a module's symbols writable, or as they were before. */
static bool unlock_symbols(const struct dl_phdr_info *info, const struct si_symbols *t, bool unlock)
{
	uintptr_t low = (uintptr_t)t->table & -(uintptr_t)PAGE;
	uintptr_t high = ((uintptr_t)(t->table + si_symbols_end(t)) + PAGE - 1) & -(uintptr_t)PAGE;

	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		int prot = (p->p_flags & PF_X ? PROT_EXEC : 0) | PROT_READ |
			   (unlock || (p->p_flags & PF_W) ? PROT_WRITE : 0);

		if (p->p_type == PT_LOAD &&
		    (uintptr_t)t->table - (info->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return si_sys(SYS_mprotect, low, high - low, prot) == 0;
	}
	return false;
}

static int change_symbols(struct dl_phdr_info *info, size_t size, void *context)
{
	const struct rebind_look *look = context;
	struct si_symbols t;
	bool unlocked = false;
	uint32_t end;

	(void)size;
	if (!read_symbols(info, &t) || si_is_ours(t.table))
		return 0;
	end = si_symbols_end(&t);
	for (uint32_t i = 1; i < end; i++) {
		ElfW(Sym) *symbol = (ElfW(Sym) *)&t.table[i];
		uintptr_t value = t.bias + symbol->st_value;

		if (symbol->st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol->st_info) != STT_FUNC)
			continue;
		for (unsigned n = 0; n < REFERENCES; n++) {
			const struct reference *r = &look->references[n];

			if (!r->real || value != r->real ||
			    !si_equal(r->symbol, t.names + symbol->st_name))
				continue;
			unlocked = unlocked || unlock_symbols(info, &t, true);
			if (unlocked)
				__atomic_store_n(&symbol->st_value, r->ours - t.bias,
						 __ATOMIC_RELAXED);
		}
	}
	if (unlocked)
		unlock_symbols(info, &t, false);
	return 0;
}

void si_rebind_all(bool back)
{
	/* whoever attached us has seen that no filter forbids mprotect */
	struct rebind_look look = { .late = true, .back = back, .asked = true,
				    .may_unlock = true };
	uintptr_t end, program;

	find_references(&look);
	program = module_of((uintptr_t)si_first_module(si_libc())->l_ld, &end);
	for (unsigned i = 0; i < REFERENCES; i++) {
		struct reference *r = &look.references[i], was;

		/* the loader has bound our own reference to what comes first */
		if (!si_is_ours((void *)r->ours))
			r->ours = (uintptr_t)si_symbol_in(si_module_of(si_bump), r->symbol);
		was = *r;
		/* dlvsym's hook serves libraries that come before us */
		if (i == REFERENCE_dlvsym || r->real - program < end - program)
			r->real = 0;
		else if (back)
			*r = (struct reference){ was.symbol, was.ours, was.real };
	}
	dl_iterate_phdr(find_definitions, &look);
	dl_iterate_phdr(change_symbols, &look); /* first: what is bound meanwhile finds the hook */
	dl_iterate_phdr(bind_references, &look);
}

const uint8_t *si_scope_way(uintptr_t pc)
{
	const uint8_t *page = (const uint8_t *)(pc & -(uintptr_t)PAGE);

	for (const uint8_t *at = (const uint8_t *)pc; at < page + PAGE; at++)
		if (*at == RETURN)
			return at;
	for (const uint8_t *at = (const uint8_t *)pc; at-- > page;)
		if (*at == RETURN)
			return at;
	return NULL;
}
