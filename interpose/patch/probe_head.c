/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_head.c: see probe_head.h. A file that says where to change code is believed only if no
 * other user can have written it and all of its numbers make sense.
 */
#include "probe_head.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define XXH_INLINE_ALL
#define XXH_NO_STREAM
#include <xxhash.h>

#include "../core/sys.h"

static const char *variable(char *const *environment, const char *name, size_t bytes)
{
	for (; environment && *environment; environment++)
		if (si_same(*environment, name, bytes) && (*environment)[bytes] == '=')
			return *environment + bytes + 1;
	return NULL;
}

/* Writes the user's cache directory to `path`. False: the environment names none. */
static bool name_cache(char *const *environment, struct si_text *path)
{
	const char *cache = variable(environment, "XDG_CACHE_HOME", 14),
		   *home = variable(environment, "HOME", 4);

	if (cache && cache[0] == '/') {
		si_text_add(path, cache);
		return true;
	}
	if (!home || home[0] != '/')
		return false;
	si_text_add(path, home);
	si_text_add(path, "/.cache");
	return true;
}

static bool name_file(const uint8_t *build_id, size_t bytes, const char *suffix,
		      struct si_text *path)
{
	static const char digits[] = "0123456789abcdef";

	si_text_add(path, "/shiny/probe/");
	for (size_t i = 0; i < bytes; i++) {
		si_text_bytes(path, &digits[build_id[i] >> 4], 1);
		si_text_bytes(path, &digits[build_id[i] & 15], 1);
	}
	si_text_add(path, suffix);
	return path->used + 1 < path->room;
}

static bool is_ours(int fd, struct si_text *why)
{
	struct stat st;

	if (si_sys(SYS_fstat, fd, &st, 0) || !S_ISREG(st.st_mode) ||
	    st.st_uid != (uid_t)si_sys(SYS_geteuid, 0, 0, 0) || (st.st_mode & 022)) {
		si_text_add(why, "somebody else can write it");
		return false;
	}
	return true;
}

const struct shiny_patch_recipe *si_probe_recipe(const struct shiny_probe_file *f,
						 const struct shiny_probe_entry *e)
{
	if (e->recipe_bytes != sizeof(struct shiny_patch_recipe) || e->recipe_at % 8 ||
	    e->recipe_at < sizeof(*f) ||
	    e->recipe_at > f->head_bytes - sizeof(struct shiny_patch_recipe))
		return NULL;
	return (const struct shiny_patch_recipe *)((const char *)f + e->recipe_at);
}

/* Offset of the first byte that the checksum covers. */
#define CHECKED offsetof(struct shiny_probe_file, version)

static bool makes_sense(const struct shiny_probe_file *f, long bytes, const uint8_t *build_id,
			size_t build_id_bytes, struct si_text *why)
{
	if (bytes < (long)sizeof(*f) || f->magic != SHINY_PROBE_MAGIC) {
		si_text_add(why, "it is no probe's result");
		return false;
	}
	if (f->version != SHINY_PROBE_VERSION) {
		si_text_add(why, "it was made by another version");
		return false;
	}
	if (f->head_bytes < sizeof(*f) || f->head_bytes > (uint64_t)bytes ||
	    f->head_bytes > SHINY_PROBE_HEAD_MAX ||
	    XXH3_64bits((const char *)f + CHECKED, f->head_bytes - CHECKED) != f->head_checksum) {
		si_text_add(why, "it is damaged");
		return false;
	}
	if (f->build_id_bytes != build_id_bytes ||
	    !si_same((const char *)f->build_id, (const char *)build_id, build_id_bytes)) {
		si_text_add(why, "it is of another build");
		return false;
	}
	if (f->entry_count > SHINY_PROBE_ENTRIES || f->index_limit > 1 << 14 ||
	    (f->index_limit & (f->index_limit - 1)) || !f->index_limit) {
		si_text_add(why, "it makes no sense");
		return false;
	}
	return true;
}

static const char *beside; /* NULL: none */
static bool was_beside; /* the file opened last was found there */

void si_probe_beside(const char *directory)
{
	beside = directory;
}

bool si_probe_was_beside(void)
{
	return was_beside;
}

static int open_file(const char *path)
{
	return si_sys_open(AT_FDCWD, path,
			   O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);
}

int si_probe_open(char *const *environment, const uint8_t *build_id, size_t build_id_bytes,
		  const char *suffix, struct si_text *why)
{
	char text[1024];
	struct si_text path;
	int fd = -ENOENT;

	if (!build_id_bytes || build_id_bytes > SHINY_PROBE_BUILD_ID)
		return -ENOENT;
	si_text_init(&path, text, sizeof(text));
	if (name_cache(environment, &path) && name_file(build_id, build_id_bytes, suffix, &path))
		fd = open_file(text);
	if (fd < 0 && beside) {
		si_text_init(&path, text, sizeof(text));
		si_text_add(&path, beside);
		if (name_file(build_id, build_id_bytes, suffix, &path))
			fd = open_file(text);
		was_beside = fd >= 0;
	}
	if (fd < 0)
		return -ENOENT;
	si_text_add(why, text);
	si_text_add(why, ": ");
	if (is_ours(fd, why))
		return fd;
	si_sys_close(fd);
	return -EPERM;
}

enum si_probe si_probe_read(char *const *environment, const uint8_t *build_id,
			    size_t build_id_bytes, struct shiny_probe_file **head,
			    struct si_text *why)
{
	int fd = si_probe_open(environment, build_id, build_id_bytes, "", why);
	struct shiny_probe_file *f = NULL;

	*head = NULL;
	if (fd == -ENOENT)
		return SI_PROBE_NONE;
	if (fd >= 0) {
		f = si_sys_map(SHINY_PROBE_HEAD_MAX, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1);
		if (!f)
			si_text_add(why, "no memory");
		else if (makes_sense(f, si_sys(SYS_read, fd, f, SHINY_PROBE_HEAD_MAX), build_id,
				     build_id_bytes, why))
			*head = f;
		si_sys_close(fd);
	}
	if (f && !*head)
		si_sys_unmap(f, SHINY_PROBE_HEAD_MAX);
	return *head ? SI_PROBE_GOOD : SI_PROBE_BAD;
}
