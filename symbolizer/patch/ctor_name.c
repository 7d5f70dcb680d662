/* SPDX-License-Identifier: Apache-2.0 */
/* ctor_name.c: see ctor_name.h. libiberty's demangler tells the kind of a name, and gives it as a
 * tree, of which the class is a branch. */
#include "ctor_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

enum { NAME_MAX_BYTES = 4096, PRINT_GUESS = 64 };
#define STYLE (DMGL_PARAMS | DMGL_ANSI)

/* False for most names: all constructors and destructors have C or D and a digit, or CI and a
 * digit. */
static bool can_be(const char *name)
{
	for (const char *c = name; *c; c++)
		if ((*c == 'C' || *c == 'D') &&
		    (isdigit((unsigned char)c[1]) || (c[1] == 'I' && isdigit((unsigned char)c[2]))))
			return true;
	return false;
}

enum ctor_variant ctor_variant(const char *name)
{
	static const enum ctor_variant constructors[] = { [gnu_v3_complete_object_ctor] =
								  CTOR_COMPLETE,
							  [gnu_v3_base_object_ctor] = CTOR_BASE,
							  [gnu_v3_complete_object_allocating_ctor] =
								  CTOR_ANY,
							  [gnu_v3_unified_ctor] = CTOR_ANY,
							  [gnu_v3_object_ctor_group] = CTOR_ANY };
	static const enum ctor_variant destructors[] = { [gnu_v3_deleting_dtor] = DTOR_DELETING,
							 [gnu_v3_complete_object_dtor] =
								 DTOR_COMPLETE,
							 [gnu_v3_base_object_dtor] = DTOR_BASE,
							 [gnu_v3_unified_dtor] = DTOR_ANY,
							 [gnu_v3_object_dtor_group] = DTOR_ANY };
	char whole[NAME_MAX_BYTES];
	size_t bytes = strcspn(name, ".@");
	unsigned kind;

	if (name[0] != '_' || name[1] != 'Z' || bytes >= sizeof(whole) || !can_be(name))
		return CTOR_NONE;
	memcpy(whole, name, bytes);
	whole[bytes] = '\0';
	kind = is_gnu_v3_mangled_ctor(whole);
	if (kind && kind < sizeof(constructors) / sizeof(*constructors))
		return constructors[kind];
	kind = is_gnu_v3_mangled_dtor(whole);
	return kind && kind < sizeof(destructors) / sizeof(*destructors) ? destructors[kind]
									 : CTOR_NONE;
}

/* Removes the constructor's own name: the remainder names the class. NULL: it can't be told. */
static struct demangle_component *cut(struct demangle_component *c)
{
	struct demangle_component *right;

	switch (c->type) {
	case DEMANGLE_COMPONENT_TYPED_NAME:
	case DEMANGLE_COMPONENT_TEMPLATE: /* the constructor's own arguments */
	case DEMANGLE_COMPONENT_TAGGED_NAME:
		return cut(c->u.s_binary.left);
	case DEMANGLE_COMPONENT_LOCAL_NAME: /* a class within a function */
		right = cut(c->u.s_binary.right);
		if (!right)
			return NULL;
		c->u.s_binary.right = right;
		return c;
	case DEMANGLE_COMPONENT_QUAL_NAME:
		right = c->u.s_binary.right;
		while (right->type == DEMANGLE_COMPONENT_TEMPLATE ||
		       right->type == DEMANGLE_COMPONENT_TAGGED_NAME)
			right = right->u.s_binary.left;
		if (right->type == DEMANGLE_COMPONENT_CTOR ||
		    right->type == DEMANGLE_COMPONENT_DTOR)
			return c->u.s_binary.left;
		right = cut(right); /* the same inside an inline namespace or a function */
		if (!right)
			return NULL;
		c->u.s_binary.right = right;
		return c;
	default:
		return NULL;
	}
}

char *ctor_class(const char *name)
{
	struct demangle_component *tree, *class;
	char whole[NAME_MAX_BYTES], *text = NULL;
	size_t bytes = strcspn(name, ".@"), room;
	void *memory = NULL;

	if (bytes >= sizeof(whole))
		return NULL;
	memcpy(whole, name, bytes);
	whole[bytes] = '\0';
	tree = cplus_demangle_v3_components(whole, STYLE, &memory);
	class = tree ? cut(tree) : NULL;
	if (class)
		text = cplus_demangle_print(STYLE, class, PRINT_GUESS, &room);
	free(memory);
	return text;
}

bool ctor_same(const char *a, const char *b)
{
	size_t i = 0;

	while (a[i] && a[i] == b[i])
		i++;
	return i && (a[i - 1] == 'C' || a[i - 1] == 'D') && isdigit((unsigned char)a[i]) &&
	       isdigit((unsigned char)b[i]) && !strcmp(a + i + 1, b + i + 1);
}
