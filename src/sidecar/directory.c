/* SPDX-License-Identifier: Apache-2.0 */
/* directory.c: see directory.h. */
#define _GNU_SOURCE
#include "directory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/hash_bytes.h"
#include "../base/text.h"
#include "ring/guests.h"

/* A file system's clock may advance in steps of two seconds: a change in the step of the last look
 * does not show in the time. */
enum { STEP_S = 2 };

static uint64_t hash_file(const char *file)
{
	return hash_bytes(file, strlen(file));
}

struct refusal *directory_refusal(const struct directory *dir, const char *file)
{
	uint32_t at = hash_table_find(&dir->by_file, hash_file(file), i,
				      !strcmp(dir->refusals.at[i].file, file));

	return at == HASH_NONE ? NULL : &dir->refusals.at[at];
}

struct refusal *directory_refuse(struct directory *dir, const char *file, uint64_t wall)
{
	struct refusal *refusal = directory_refusal(dir, file);

	if (refusal)
		return refusal;
	hash_table_add(&dir->by_file, hash_file(file), (uint32_t)dir->refusals.count);
	refusal = vec_push(&dir->refusals);
	*refusal = (struct refusal){ .file = mem_text(file), .since = wall };
	return refusal;
}

void directory_forget_refusals(struct directory *dir)
{
	size_t kept = 0, count = dir->refusals.count;

	for (size_t i = 0; i < count; i++)
		if (dir->refusals.at[i].there)
			dir->refusals.at[kept++] = dir->refusals.at[i];
		else
			free(dir->refusals.at[i].file);
	dir->refusals.count = kept;
	if (kept == count)
		return;
	hash_table_deinit(&dir->by_file);
	for (size_t i = 0; i < kept; i++)
		hash_table_add(&dir->by_file, hash_file(dir->refusals.at[i].file), (uint32_t)i);
}

bool directory_has_more(const struct directory *dir)
{
	return dir->look || dir->making;
}

bool directory_is_still(struct directory *dir)
{
	struct timespec last = dir->changed, now;
	struct stat st;

	if (stat(dir->path, &st) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0)
		return false;
	dir->changed = st.st_mtim;
	return !directory_has_more(dir) && last.tv_sec == st.st_mtim.tv_sec &&
	       last.tv_nsec == st.st_mtim.tv_nsec && now.tv_sec - last.tv_sec > STEP_S;
}

bool directory_serves(const struct rings *rings, const char *path)
{
	for (size_t i = 0; i < rings->present.count; i++)
		if (!strcmp(rings->present.at[i]->path, path))
			return true;
	return false;
}

bool directory_is_programs(const struct rings *rings, const struct directory *dir)
{
	const char *name = text_base(dir->path);
	char *ticks;
	unsigned long pid = strtoul(name, &ticks, 10);

	return rings->all.count && pid == rings->all.at[0]->pid && ticks[0] == '.' && ticks[1] &&
	       !ticks[1 + strspn(ticks + 1, "0123456789")];
}

void directory_say_finishing(struct rings *rings, const struct directory *dir, bool finishing)
{
	ssize_t done = finishing ? pwrite(dir->held, "f", 1, 0) : ftruncate(dir->held, 0);

	(void)done;
	guests_admit(rings->guests, !finishing);
}

/* True if this session has neither served nor refused the ring. */
static bool is_new_ring(const struct rings *rings, struct directory *dir, const char *file)
{
	char *path = mem_format("%s/%s", dir->path, file);
	const struct refusal *refusal = directory_refusal(dir, file);
	bool is_new = !strncmp(file, SHINY_RING_PREFIX, strlen(SHINY_RING_PREFIX)) &&
		      !(refusal && refusal->told) && !directory_serves(rings, path);

	free(path);
	return is_new;
}

/* Removes the probes of programs whose user has no cache (src/ctl/run/prepare.h). */
static void remove_probes(const char *directory)
{
	static const char *const levels[] = { "shiny/probe", "shiny" };

	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		char *path = mem_format("%s/%s", directory, levels[i]);
		DIR *handle = opendir(path);
		struct dirent *entry;

		while (handle && (entry = readdir(handle)))
			unlinkat(dirfd(handle), entry->d_name, 0);
		if (handle)
			closedir(handle);
		rmdir(path);
		free(path);
	}
}

bool directory_remove(struct rings *rings, struct directory *dir)
{
	char *lock = mem_format("%s/%s", dir->path, SHINY_SIDECAR_LOCK);
	bool late = false;
	struct dirent *entry;
	DIR *handle;

	for (size_t i = rings->present.count; i-- > 0;) {
		const struct ring_file *a = rings->present.at[i];

		if (a->over && (unlink(a->path) == 0 || errno == ENOENT))
			rings->present.at[i] = rings->present.at[--rings->present.count];
	}
	unlink(lock);
	free(lock);
	remove_probes(dir->path);
	handle = opendir(dir->path);
	while (handle && (entry = readdir(handle))) {
		late = late || is_new_ring(rings, dir, entry->d_name);
		if (!strncmp(entry->d_name, SHINY_PROGRAM_PREFIX, strlen(SHINY_PROGRAM_PREFIX)))
			unlinkat(dirfd(handle), entry->d_name, 0);
	}
	if (handle)
		closedir(handle);
	rmdir(dir->path); /* fails if it has other files */
	return late;
}

void directory_deinit(struct directory *dir)
{
	if (dir->lock >= 0)
		close(dir->lock);
	if (dir->look)
		closedir(dir->look);
	shiny_err_free(dir->first);
	for (size_t i = 0; i < dir->refusals.count; i++)
		free(dir->refusals.at[i].file);
	free(dir->refusals.at);
	hash_table_deinit(&dir->by_file);
}
