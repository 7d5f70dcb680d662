/* SPDX-License-Identifier: Apache-2.0 */
/*
 * probe_head.c: which file about an executable is believed (interpose/patch/probe_head.h), and
 * which is refused, for which reason. e2e/oilpan_test shows what a refusal comes to in Chromium.
 *
 * Runs: test, against interpose/ built with sanitizers.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../interpose/core/sys.h"
#include "../../interpose/patch/probe_head.h"
#include "../unit/check.h"

enum { ID = 4, HEAD = sizeof(struct shiny_probe_file) + sizeof(struct shiny_patch_recipe) };

static const uint8_t build_id[ID] = { 0xab, 0x01, 0x23, 0xfe };
static char cache[PATH_MAX / 2], path[PATH_MAX]; /* the user's cache, and the file in it */
static struct {
	struct shiny_probe_file file;
	struct shiny_patch_recipe recipe;
} content;

static void checksum(void)
{
	size_t from = offsetof(struct shiny_probe_file, version);

	content.file.head_checksum = XXH3_64bits((char *)&content + from, HEAD - from);
}

static void make_good(void)
{
	memset(&content, 0, sizeof(content));
	content.file.magic = SHINY_PROBE_MAGIC;
	content.file.version = SHINY_PROBE_VERSION;
	content.file.head_bytes = HEAD;
	content.file.build_id_bytes = ID;
	memcpy(content.file.build_id, build_id, ID);
	content.file.index_limit = 1 << 14;
	content.file.entry_count = 1;
	content.file.entries[0].recipe_at = sizeof(struct shiny_probe_file);
	content.file.entries[0].recipe_bytes = sizeof(struct shiny_patch_recipe);
	checksum();
}

static void write_file(size_t bytes, mode_t mode)
{
	int fd;

	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0 || write(fd, &content, bytes) != (ssize_t)bytes || fchmod(fd, mode))
		check("file", false, "it cannot be written");
	close(fd);
}

/* Reads the file, of which `want` is said; NULL: it is good. */
static void reads(const char *name, const char *want)
{
	static char variable[PATH_MAX];
	char *environment[] = { variable, NULL };
	struct shiny_probe_file *head = NULL;
	enum si_probe found;
	struct si_text why;
	char text[2048];

	si_text_init(&why, text, sizeof(text));
	snprintf(variable, sizeof(variable), "XDG_CACHE_HOME=%s", cache);
	found = si_probe_read(environment, build_id, ID, &head, &why);
	if (want)
		checkf(name, found == SI_PROBE_BAD && !head && strstr(text, want), "%d: %s", found,
		       text);
	else
		checkf(name, found == SI_PROBE_GOOD && head && !memcmp(head, &content, HEAD),
		       "%d: %s", found, text);
	if (head) {
		checkf("recipe",
		       head->entries[0].recipe_at && si_probe_recipe(head, &head->entries[0]) ==
							     (void *)((char *)head + sizeof(*head)),
		       "it is not where the file has it");
		head->entries[0].recipe_at = HEAD - sizeof(struct shiny_patch_recipe) + 8;
		check("recipe/beyond the end", !si_probe_recipe(head, &head->entries[0]), "given");
		si_sys_unmap(head, SHINY_PROBE_HEAD_MAX);
	}
}

static void is_refused(void)
{
	make_good();
	write_file(HEAD, 0620);
	reads("written by the group", "somebody else can write it");
	write_file(HEAD, 0602);
	reads("written by others", "somebody else can write it");
	if (!geteuid()) {
		write_file(HEAD, 0600);
		if (!chown(path, 65534, 65534))
			reads("another user's", "somebody else can write it");
	}
	for (size_t bytes = 0; bytes < sizeof(content.file); bytes += 200) {
		write_file(bytes, 0600);
		reads("cut", "it is no probe's result");
	}
	write_file(HEAD - 1, 0600);
	reads("cut by a byte", "it is damaged");
	content.file.entries[0].vaddr ^= 1;
	write_file(HEAD, 0600);
	reads("another byte", "it is damaged");
	make_good();
	content.file.head_bytes = sizeof(content.file) - 1;
	write_file(HEAD, 0600);
	reads("a head too small", "it is damaged");
	content.file.head_bytes = UINT32_MAX;
	write_file(HEAD, 0600);
	reads("a head too large", "it is damaged");
	make_good();
	content.file.magic++;
	write_file(HEAD, 0600);
	reads("magic", "it is no probe's result");
}

/* Right by their checksums. */
static void makes_no_sense(void)
{
	static const uint16_t limits[] = { 0, 3, (1 << 14) - 1, 1 << 15 };

	make_good();
	content.file.version++;
	checksum();
	write_file(HEAD, 0600);
	reads("version", "it was made by another version");
	make_good();
	content.file.build_id[ID - 1] ^= 1;
	checksum();
	write_file(HEAD, 0600);
	reads("build", "it is of another build");
	make_good();
	content.file.build_id_bytes++;
	checksum();
	write_file(HEAD, 0600);
	reads("a longer build-id", "it is of another build");
	make_good();
	content.file.entry_count = SHINY_PROBE_ENTRIES + 1;
	checksum();
	write_file(HEAD, 0600);
	reads("entries", "it makes no sense");
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		make_good();
		content.file.index_limit = limits[i];
		checksum();
		write_file(HEAD, 0600);
		reads("indexes", "it makes no sense");
	}
}

/* A name that is there, but no file that one can believe. */
static void is_no_file(void)
{
	unlink(path);
	mkdir(path, 0700);
	reads("a directory", "somebody else can write it");
	rmdir(path);
	if (!mkfifo(path, 0600))
		reads("a pipe", "somebody else can write it");
	unlink(path);
}

/* None: without a cache, and where the name is a link. Beside us: where the cache has none. */
static void is_elsewhere(void)
{
	char variable[PATH_MAX], other[PATH_MAX], text[2048];
	char *relative[] = { "XDG_CACHE_HOME=cache", "HOME=home", NULL };
	char *named[] = { variable, NULL };
	struct shiny_probe_file *head;
	struct si_text why;

	make_good();
	write_file(HEAD, 0600);
	si_text_init(&why, text, sizeof(text));
	number("relative", si_probe_read(relative, build_id, ID, &head, &why), SI_PROBE_NONE);
	number("another build-id",
	       si_probe_read(relative, (const uint8_t *)"abcd", ID, &head, &why), SI_PROBE_NONE);
	si_probe_beside(cache);
	number("beside", si_probe_read(relative, build_id, ID, &head, &why), SI_PROBE_GOOD);
	check("beside/said", si_probe_was_beside(), "it is not");
	si_probe_beside(NULL);
	snprintf(variable, sizeof(variable), "XDG_CACHE_HOME=%s", cache);
	snprintf(other, sizeof(other), "%s/other", cache);
	if (rename(path, other) || symlink(other, path))
		check("link", false, "it cannot be made");
	number("link", si_probe_read(named, build_id, ID, &head, &why), SI_PROBE_NONE);
}

int main(void)
{
	const char *tmp = getenv("SHINY_TEST_TMP");

	snprintf(cache, sizeof(cache), "%s/cache", tmp ? tmp : "/tmp");
	mkdir(cache, 0700);
	snprintf(path, sizeof(path), "%s/shiny", cache);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/shiny/probe", cache);
	mkdir(path, 0700);
	snprintf(path, sizeof(path), "%s/shiny/probe/ab0123fe", cache);
	make_good();
	write_file(HEAD, 0600);
	reads("good", NULL);
	is_refused();
	makes_no_sense();
	is_no_file();
	is_elsewhere();
	return failures != 0;
}
