/* SPDX-License-Identifier: Apache-2.0 */
/*
 * object_kind.c: the type of a kind of garbage-collected objects, from the address that stands for
 * the kind in the executable.
 *
 * The probe reads the names from the executable. Its result is in the cache, because the recording
 * needs it to see such objects at all. If the objects of a kind name themselves, the kind gets the
 * name that its class returns, as in DevTools; if that isn't a constant, it gets a label.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dwarf/die_normalize.h"
#include "infer/type_object.h"
#include "module.h"
#include "probe/probe_executable.h"
#include "sym.h"

enum { NAME_MAX_BYTES = 2048 };

static const struct probe *probe_of(struct sym_module *module)
{
	struct probe_options options = { .no_cache = module->sym->no_cache };
	struct shiny_err *err;

	if (module->probed)
		return module->probe;
	module->probed = true;
	module->probe = calloc(1, sizeof(*module->probe));
	if (!module->probe)
		return NULL;
	err = probe_open(module->path, &options, module->probe);
	if (err) { /* the file is gone or changed: the kinds keep their labels */
		shiny_err_free(err);
		free(module->probe);
		module->probe = NULL;
	}
	return module->probe;
}

static const struct shiny_probe_type *type_of(const struct probe *probe, uint64_t vaddr)
{
	const struct shiny_probe_file *f = probe->file;

	if (f->shape == SHINY_PROBE_REGISTERED)
		return probe_type(probe, vaddr);
	if (f->shape != SHINY_PROBE_SECTION || vaddr < f->info_vaddr ||
	    (vaddr - f->info_vaddr) % f->info_bytes)
		return NULL;
	return probe_type(probe, (vaddr - f->info_vaddr) / f->info_bytes + 1);
}

/* Extracts the type from a __PRETTY_FUNCTION__ of clang or gcc: "… [T = blink::Foo]", "… [with T =
 * blink::Foo]". Returns any other text whole. */
static const char *type_in(struct names *names, const char *text)
{
	const char *begin = strstr(text, " = "), *end = strrchr(text, ']');
	char part[NAME_MAX_BYTES];

	if (!begin || !strchr(text, '[') || !end || end[1] || begin > end ||
	    strchr(text, '[') > begin)
		return names_text(names, text);
	snprintf(part, sizeof(part), "%.*s", (int)(end - begin - 3), begin + 3);
	return names_text(names, part);
}

/* True if the text ends with a place in the source: FILE:LINE. */
static bool is_place(const char *text)
{
	const char *line = strrchr(text, ':');

	return line && line > text && line[-1] != ':' && line[1] &&
	       strspn(line + 1, "0123456789") == strlen(line + 1);
}

/* Returns the name at `vaddr`, if that is read-only text; NULL: it is a kind's description, whose
 * memory is writable. */
static const char *text_at(struct sym_module *module, uint64_t vaddr)
{
	const char *text;

	if (binary_flags(&module->file, vaddr) & PF_W)
		return NULL;
	text = binary_string(&module->file, vaddr, NAME_MAX_BYTES - 1);
	for (const char *c = text; c && *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f)
			return NULL;
	return text && *text ? text : NULL;
}

void sym_object_kind(struct sym_module *module, uint64_t vaddr, struct sym_vtable *out)
{
	const char *text = text_at(module, vaddr), *normal;
	struct names *names = &module->sym->names;
	const struct shiny_probe_type *type;
	const struct probe *probe;
	char label[512];

	if (text && is_place(text)) { /* talloc_size() says where it stands: no type */
		*out = (struct sym_vtable){ .source = SYM_VTABLE_NONE, .address_point = vaddr };
		return;
	}
	if (text) {
		text = type_in(names, text);
		normal = die_normalize(names, text);
		*out = (struct sym_vtable){ .source = SYM_VTABLE_TEXT,
					    .address_point = vaddr,
					    .type = normal ? normal : text,
					    .class_named = true };
		return;
	}
	text = type_object_class(&module->file, &module->relocs, vaddr);
	if (text) {
		*out = (struct sym_vtable){ .source = SYM_VTABLE_ISA,
					    .address_point = vaddr,
					    .type = names_text(names, text),
					    .class_named = true };
		return;
	}
	probe = probe_of(module);
	type = probe ? type_of(probe, vaddr) : NULL;
	*out = (struct sym_vtable){ .source = SYM_VTABLE_KIND, .address_point = vaddr };
	if (type &&
	    (type->naming == SHINY_PROBE_NAME_STATIC || type->naming == SHINY_PROBE_NAME_CLASS)) {
		out->type = die_normalize(names, names_text(names, probe_text(probe, type->name)));
		out->class_named = out->type != NULL;
		out->class_bytes = type->size;
	}
	if (out->type)
		return;
	snprintf(label, sizeof(label), "%s!kind+0x%" PRIx64, module->label, vaddr);
	out->type = names_text(names, label);
}
