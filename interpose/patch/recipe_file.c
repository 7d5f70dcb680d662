/* SPDX-License-Identifier: Apache-2.0 */
/* recipe_file.c: see recipe_file.h. */
#include "recipe_file.h"

#include <errno.h>
#include <sys/mman.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "../core/env.h"
#include "../core/sys.h"
#include "probe_head.h"

static bool same_setting(const struct shiny_allocator_file *f, uint64_t setting_time)
{
	for (unsigned i = 0; i < SHINY_ALLOCATOR_SETTING; i++) {
		if (f->setting[i] != si_env.allocator[i])
			return false;
		if (!f->setting[i])
			return f->setting_time == setting_time;
	}
	return false;
}

/* True if it is a function about types, and none of an allocator. */
static bool is_of_types(const struct shiny_allocator_call *c)
{
	return c->kind == SHINY_CALL_TYPE_NAME || c->kind == SHINY_CALL_TYPED ||
	       c->kind == SHINY_CALL_NAMED;
}

static bool is_of_run_time(const struct shiny_allocator_call *c)
{
	return is_of_types(c) || c->kind == SHINY_CALL_ASIDE;
}

static bool makes_sense(const struct shiny_allocator_entry *e, const struct si_main_image *image)
{
	const struct shiny_allocator_call *c = &e->call;
	const uint8_t arguments[] = { c->block, c->size,   c->count, c->plus,
				      c->pool,  c->parent, c->title, c->type };
	bool takes_block = c->kind == SHINY_CALL_END || c->kind == SHINY_CALL_MOVE ||
			   c->kind == SHINY_CALL_MOVE_OUT || c->kind == SHINY_CALL_MOVE_AT ||
			   c->kind == SHINY_CALL_RESIZE || c->kind == SHINY_CALL_END_LIST;
	bool is_list = c->kind == SHINY_CALL_END_LIST, of_run_time = is_of_run_time(c);
	/* names need no run time */
	unsigned least = of_run_time && c->kind != SHINY_CALL_NAMED ? SHINY_APIS : 0;

	for (unsigned i = 0; i < sizeof(arguments); i++)
		if (arguments[i] >= SHINY_CALL_ARGUMENTS && arguments[i] != SHINY_CALL_NO &&
		    !(i == 3 && arguments[i] == SHINY_CALL_ONE) &&
		    !(i == 4 && arguments[i] == SHINY_CALL_VARIABLE && e->variable))
			return false;
	return c->kind < SHINY_CALL_KINDS &&
	       c->api < SHINY_APIS + (of_run_time ? SHINY_RUN_TIMES : 0) && c->api >= least &&
	       (!takes_block || c->block != SHINY_CALL_NO) &&
	       (!is_of_types(c) || c->type != SHINY_CALL_NO) &&
	       (!is_list || (c->size != SHINY_CALL_NO && c->plus < SHINY_CALL_ARGUMENTS)) &&
	       e->family < SHINY_ALLOCATOR_FAMILIES && !e->name[SHINY_ALLOCATOR_NAME - 1] &&
	       e->recipe.vaddr >= image->start - image->bias &&
	       e->recipe.vaddr < image->end - image->bias - SHINY_PATCH_EXPECTED &&
	       (!e->variable || (e->variable >= image->start - image->bias &&
				 e->variable < image->end - image->bias - sizeof(void *))) &&
	       e->recipe.expected_bytes <= SHINY_PATCH_EXPECTED;
}

const char si_recipe_other_setting[] = "it was made with another SHINY_ALLOCATOR";

#define CHECKED offsetof(struct shiny_allocator_file, version)

static const char *fault_of(const struct shiny_allocator_file *f, long bytes,
			    const struct si_main_image *image, uint64_t setting_time)
{
	const struct shiny_allocator_entry *e = (const struct shiny_allocator_entry *)(f + 1);

	if (bytes < (long)sizeof(*f) || f->magic != SHINY_ALLOCATOR_MAGIC ||
	    f->bytes != (uint64_t)bytes)
		return "it is damaged";
	if (f->version != SHINY_ALLOCATOR_VERSION)
		return "it was made by another version";
	if (XXH3_64bits((const char *)f + CHECKED, (size_t)bytes - CHECKED) != f->checksum ||
	    f->count > SHINY_ALLOCATOR_ENTRIES || f->bytes != sizeof(*f) + f->count * sizeof(*e))
		return "it is damaged";
	if (f->build_id_bytes != image->build_id_bytes ||
	    !si_same((const char *)f->build_id, (const char *)image->build_id,
		     image->build_id_bytes))
		return "it is of another build";
	if (!same_setting(f, setting_time))
		return si_recipe_other_setting;
	for (uint32_t i = 0; i < f->count; i++)
		if (!makes_sense(&e[i], image))
			return "it makes no sense";
	return NULL;
}

bool si_recipe_is_about_types(const struct shiny_allocator_file *f)
{
	return is_of_types(&((const struct shiny_allocator_entry *)(f + 1))->call);
}

void si_recipe_close(struct si_recipe_file *file)
{
	if (file->f)
		si_sys_unmap(file->f, SHINY_ALLOCATOR_FILE_MAX + 1);
	if (file->fd >= 0)
		si_sys_close(file->fd);
}

const char *si_recipe_open(char *const *environment, const struct si_main_image *image,
			   uint64_t setting_time, struct si_recipe_file *file, struct si_text *why)
{
	long n;

	file->f = NULL;
	file->fd = si_probe_open(environment, image->build_id, image->build_id_bytes,
				 SHINY_ALLOCATOR_SUFFIX, why);
	if (file->fd < 0)
		return "";
	file->f = si_sys_map(SHINY_ALLOCATOR_FILE_MAX + 1, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1);
	if (!file->f)
		return "no memory";
	n = si_sys(SYS_read, file->fd, file->f, SHINY_ALLOCATOR_FILE_MAX + 1);
	return fault_of(file->f, n, image, setting_time);
}
