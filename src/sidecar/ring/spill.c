/* SPDX-License-Identifier: Apache-2.0 */
/*
 * spill.c: see spill.h.
 *
 * A place is the number of a file, from 1 on, and an offset in it. Files are written by pwrite and
 * read by pread: a mapping would have to be cleared by the kernel first, and could tear.
 */
#define _GNU_SOURCE
#include "spill.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../../base/mem.h"
#include "../../base/row_order.h"

#define SPILL_MAGIC UINT64_C(0x6c6c697073796873)

/* free bytes of the file system that a new file leaves to others */
enum { SPILL_FREE = 4 * SPILL_FILE };

struct spill_entry { /* in front of its chunk */
	uint64_t magic;
	uint64_t start_ticks, start_realtime, pid; /* identify its ring */
	uint64_t word;                             /* its state in the ring */
	uint32_t bytes, read;
	uint64_t unused[2];
};
_Static_assert(sizeof(struct spill_entry) == 64, "an entry and a chunk fill whole cache lines");

struct spill_file {
	uint32_t number, unread;
	int fd;
	uint32_t end; /* end of the written entries, bytes */
};

struct spill_left {
	uint64_t place;
	struct spill_entry entry;
};

struct spill {
	char *directory;
	uint64_t most, used, copied; /* bytes: limit of all files, present, copied ever */
	uint32_t last;               /* the highest number of a file so far */
	bool full;                   /* the file system refused more; until a file is removed */
	VEC(struct spill_file) files; /* the last one is written to */
	VEC(struct spill_left) left;  /* oldest first */
};

static char *file_path(const struct spill *spill, uint32_t number)
{
	return mem_format("%s/" SPILL_PREFIX "%" PRIu32, spill->directory, number);
}

static struct spill_file *find_file(struct spill *spill, uint64_t place)
{
	for (size_t i = 0; i < spill->files.count; i++)
		if (spill->files.at[i].number == place >> 32)
			return &spill->files.at[i];
	return NULL;
}

static void remove_file(struct spill *spill, struct spill_file *file)
{
	char *path = file_path(spill, file->number);
	size_t index = (size_t)(file - spill->files.at);

	unlink(path);
	free(path);
	close(file->fd);
	spill->used -= file->end;
	spill->full = false;
	memmove(file, file + 1, (--spill->files.count - index) * sizeof(*file));
}

static bool read_entry(const struct spill_file *file, uint32_t at, struct spill_entry *out)
{
	return pread(file->fd, out, sizeof(*out), at) == sizeof(*out) &&
	       out->magic == SPILL_MAGIC &&
	       (out->bytes == SHINY_CHUNK_BYTES || out->bytes == SHINY_SMALL_BYTES);
}

/* ---- files of an earlier sidecar ---- */

static void take_left(struct spill *spill, struct spill_file *file, uint64_t bytes)
{
	struct spill_entry entry;

	while (file->end + sizeof(entry) <= bytes && read_entry(file, file->end, &entry) &&
	       file->end + sizeof(entry) + entry.bytes <= bytes) {
		if (!entry.read) {
			file->unread++;
			*vec_push(&spill->left) = (struct spill_left){
				.place = (uint64_t)file->number << 32 | file->end, .entry = entry
			};
		}
		file->end += (uint32_t)(sizeof(entry) + entry.bytes);
	}
}

static void take_file(struct spill *spill, uint32_t number)
{
	struct spill_file file = { .number = number };
	char *path = file_path(spill, number);
	struct stat st;

	file.fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	free(path);
	if (file.fd < 0)
		return;
	if (fstat(file.fd, &st) || !S_ISREG(st.st_mode) || st.st_size > SPILL_FILE) {
		close(file.fd);
		return;
	}
	take_left(spill, &file, (uint64_t)st.st_size);
	spill->used += file.end;
	*vec_push(&spill->files) = file;
	if (!file.unread)
		remove_file(spill, &spill->files.at[spill->files.count - 1]);
}

ORDER_BY(by_age, uint32_t, ORDER_VALUES(*a, *b))

struct spill *spill_open(const char *directory, uint64_t most)
{
	struct spill *spill = mem_zero(1, sizeof(*spill));
	VEC(uint32_t) numbers = { 0 };
	DIR *handle = opendir(directory);
	struct dirent *entry;
	uint32_t number;
	char more;

	spill->directory = mem_text(directory);
	spill->most = most;
	while (handle && (entry = readdir(handle)))
		if (sscanf(entry->d_name, SPILL_PREFIX "%9" SCNu32 "%c", &number, &more) == 1)
			*vec_push(&numbers) = number;
	if (handle)
		closedir(handle);
	if (numbers.count)
		qsort(numbers.at, numbers.count, sizeof(*numbers.at), by_age);
	for (size_t i = 0; i < numbers.count; i++) {
		spill->last = numbers.at[i];
		take_file(spill, numbers.at[i]);
	}
	free(numbers.at);
	return spill;
}

void spill_close(struct spill *spill, bool all)
{
	if (!spill)
		return;
	while (spill->files.count) {
		struct spill_file *file = &spill->files.at[spill->files.count - 1];

		if (all || !file->unread) {
			remove_file(spill, file);
			continue;
		}
		close(file->fd);
		spill->files.count--;
	}
	free(spill->files.at);
	free(spill->left.at);
	free(spill->directory);
	free(spill);
}

static bool is_of(const struct spill_left *left, const struct ring_file *ring)
{
	return !ring || (left->entry.start_ticks == ring->start_ticks &&
			 left->entry.start_realtime == ring->start_realtime &&
			 left->entry.pid == ring->pid);
}

void spill_each_left(struct spill *spill, struct ring_file *ring, spill_left_fn *each,
		     void *context)
{
	size_t kept = 0;

	for (size_t i = 0; i < spill->left.count; i++) {
		struct spill_left left = spill->left.at[i];

		if (!is_of(&left, ring) || !each(context, ring, left.place, left.entry.word))
			spill->left.at[kept++] = left;
	}
	spill->left.count = kept;
}

uint32_t spill_left(const struct spill *spill, const struct ring_file *ring)
{
	uint32_t count = 0;

	for (size_t i = 0; spill && i < spill->left.count; i++)
		count += is_of(&spill->left.at[i], ring);
	return count;
}

/* ---- chunks ---- */

static bool has_space(const struct spill *spill)
{
	struct statvfs fs;

	return spill->used + SPILL_FILE <= spill->most &&
	       statvfs(spill->directory, &fs) == 0 &&
	       (uint64_t)fs.f_bavail * fs.f_frsize >= SPILL_FREE;
}

/* Returns the file that is being written, if it has room for `bytes` more; else NULL. */
static struct spill_file *last_file(struct spill *spill, size_t bytes)
{
	struct spill_file *last =
		spill->files.count ? &spill->files.at[spill->files.count - 1] : NULL;

	return last && last->number == spill->last && last->end + bytes <= SPILL_FILE ? last : NULL;
}

static struct spill_file *begin_file(struct spill *spill)
{
	struct spill_file file = { .number = spill->last + 1 };
	char *path = file_path(spill, file.number);

	file.fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	free(path);
	if (file.fd < 0) {
		spill->full = true;
		return NULL;
	}
	spill->last = file.number;
	*vec_push(&spill->files) = file;
	return &spill->files.at[spill->files.count - 1];
}

/* Returns a file that has room for `bytes` more; NULL: there is none. */
static struct spill_file *file_to_write(struct spill *spill, size_t bytes)
{
	struct spill_file *last = last_file(spill, bytes);

	if (spill->full)
		return NULL;
	if (last && spill->used + bytes <= spill->most)
		return last;
	if (!has_space(spill)) {
		spill->full = true;
		return NULL;
	}
	return begin_file(spill);
}

/* Writes an entry; returns its place, or 0: it could not be written. */
static uint64_t put_entry(struct spill *spill, struct spill_file *file,
			  const struct ring_file *ring, uint64_t word, uint32_t bytes,
			  const struct iovec chunk[2])
{
	struct spill_entry entry = { .magic = SPILL_MAGIC,
				     .start_ticks = ring->start_ticks,
				     .start_realtime = ring->start_realtime,
				     .pid = ring->pid,
				     .word = word,
				     .bytes = bytes };
	struct iovec parts[] = { { &entry, sizeof(entry) }, chunk[0], chunk[1] };
	size_t all = sizeof(entry) + bytes;
	uint64_t place = (uint64_t)file->number << 32 | file->end;

	if (pwritev(file->fd, parts, parts[2].iov_len ? 3 : 2, file->end) != (ssize_t)all) {
		spill->full = true;
		if (ftruncate(file->fd, file->end))
			spill->most = 0; /* a partial entry is left: nothing may follow it */
		return 0;
	}
	file->end += (uint32_t)all;
	file->unread++;
	spill->used += all;
	spill->copied += all;
	return place;
}

uint64_t spill_put(struct spill *spill, const struct ring_file *ring, uint32_t chunk,
		   uint64_t word)
{
	uint32_t bytes = chunk < ring->chunks.smalls ? SHINY_SMALL_BYTES : SHINY_CHUNK_BYTES;
	struct spill_file *file = file_to_write(spill, sizeof(struct spill_entry) + bytes);

	struct iovec parts[2] = { { shiny_chunk_at(&ring->chunks, chunk), bytes } };

	return file ? put_entry(spill, file, ring, word, bytes, parts) : 0;
}

bool spill_put_back(struct spill *spill, const struct ring_file *ring,
		    const struct shiny_chunk *chunk, uint32_t bytes, uint32_t room, uint64_t word)
{
	static char zeros[SHINY_CHUNK_BYTES];
	uint32_t all = room == SHINY_SMALL_RECORDS ? SHINY_SMALL_BYTES : SHINY_CHUNK_BYTES;
	uint32_t used = bytes < all ? bytes : all;
	struct spill_file *file = last_file(spill, sizeof(struct spill_entry) + all);
	struct iovec parts[2] = { { (void *)(uintptr_t)chunk, used }, { zeros, all - used } };

	if (file && spill->most && put_entry(spill, file, ring, word, all, parts))
		return true;
	/* a new file, as the size of each may be limited */
	file = begin_file(spill);
	return file && put_entry(spill, file, ring, word, all, parts);
}

uint32_t spill_get(struct spill *spill, uint64_t place, void *out)
{
	const struct spill_file *file = find_file(spill, place);
	uint32_t at = (uint32_t)place;
	struct spill_entry entry;

	if (!file || !read_entry(file, at, &entry) ||
	    pread(file->fd, out, entry.bytes, at + (off_t)sizeof(entry)) != (ssize_t)entry.bytes)
		return 0;
	return entry.bytes == SHINY_CHUNK_BYTES ? SHINY_CHUNK_RECORDS : SHINY_SMALL_RECORDS;
}

void spill_mark_taken(struct spill *spill, uint64_t place, uint32_t taken)
{
	const struct spill_file *file = find_file(spill, place);
	size_t at = (uint32_t)place + sizeof(struct spill_entry) +
		    offsetof(struct shiny_chunk, taken);

	if (file && pwrite(file->fd, &taken, sizeof(taken), (off_t)at) < 0)
		spill->full = true; /* a disk that fails: no more of it */
}

void spill_drop(struct spill *spill, uint64_t place)
{
	static const uint32_t read = 1;
	struct spill_file *file = find_file(spill, place);

	if (!file || !file->unread)
		return;
	if (--file->unread == 0)
		remove_file(spill, file);
	else if (pwrite(file->fd, &read, sizeof(read),
			(off_t)((uint32_t)place + offsetof(struct spill_entry, read))) < 0)
		spill->full = true; /* a disk that fails: no more of it */
}

uint64_t spill_room(const struct spill *spill)
{
	return spill && !spill->full && spill->used < spill->most ? spill->most - spill->used : 0;
}

uint64_t spill_bytes(const struct spill *spill)
{
	return spill ? spill->copied : 0;
}
