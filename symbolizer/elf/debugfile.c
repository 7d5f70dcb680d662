/* SPDX-License-Identifier: Apache-2.0 */
/*
 * debugfile.c: see debugfile.h.
 *
 * A wrong debug file is worse than none. A file found by build-id must carry that build-id itself.
 * A file found by name must carry the same build-id or, without one, have the checksum in
 * .gnu_debuglink or the same code.
 */
#define _GNU_SOURCE /* asprintf */

#include "debugfile.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../src/base/mem.h"
#include "fetch.h"

#define SYSTEM_DIR "/usr/lib/debug"
/* Fedora's largest are below 10 MB unpacked */
#define EMBEDDED_MAX ((size_t)256 << 20)
#define EMBEDDED_MEMORY ((uint64_t)512 << 20)

/* Returns the CRC-32 of .gnu_debuglink: polynomial 0xedb88320, as in zlib and ISO 3309. */
static uint32_t crc32_of(const uint8_t *data, size_t bytes)
{
	uint32_t table[256], crc = ~0u;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320u : 0);
	}
	for (size_t i = 0; i < bytes; i++)
		crc = table[(crc ^ data[i]) & 0xff] ^ crc >> 8;
	return ~crc;
}

static bool same_id(const struct binary *a, const uint8_t *id, size_t bytes)
{
	return bytes && a->build_id_bytes == bytes && !memcmp(a->build_id, id, bytes);
}

/* True if it has anything that the stripped file lacks. */
static bool has_debug(const struct binary *file)
{
	Elf64_Shdr section;

	if (binary_section_typed(file, SHT_SYMTAB, &section) && section.sh_size)
		return true;
	return (binary_section_named(file, ".debug_info", &section) ||
		binary_section_named(file, ".zdebug_info", &section)) &&
	       section.sh_type != SHT_NOBITS;
}

/* True if both have the same code; for files without a build-id. */
static bool same_code(const struct binary *a, const struct binary *b)
{
	Elf64_Shdr in_a, in_b;

	if (!binary_section_named(a, ".text", &in_a) || !binary_section_named(b, ".text", &in_b) ||
	    in_a.sh_addr != in_b.sh_addr)
		return false;

	struct binary_bytes x = binary_section_bytes(a, &in_a), y = binary_section_bytes(b, &in_b);

	return x.data && y.data && x.bytes == y.bytes && !memcmp(x.data, y.data, x.bytes);
}

/* Returns `path` if that file has the build-id, else frees it and returns NULL. */
static char *if_same_id(char *path, const uint8_t *id, size_t bytes)
{
	struct binary candidate;

	if (path && binary_open(&candidate, path) == BINARY_OK) {
		bool same = same_id(&candidate, id, bytes);

		binary_close(&candidate);
		if (same)
			return path;
	}
	free(path);
	return NULL;
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

char *debugfile_by_id(const uint8_t *id, size_t bytes, const char *const *debug_dirs)
{
	static const char *const system_dirs[] = { SYSTEM_DIR, NULL };
	char hex[2 * BINARY_BUILD_ID_MAX + 1];

	if (bytes < 2 || bytes > BINARY_BUILD_ID_MAX)
		return NULL;
	for (size_t i = 0; i < bytes; i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	for (int pass = 0; pass < 2; pass++) {
		const char *const *dir = pass ? system_dirs : debug_dirs;

		for (; dir && *dir; dir++) {
			char *path;

			path = is_file(*dir) ? mem_text(*dir)
					     : mem_format("%s/.build-id/%.2s/%s.debug", *dir, hex,
							  hex + 2);
			path = if_same_id(path, id, bytes);
			if (path)
				return path;
		}
	}
	return if_same_id(fetch_cached(id, bytes), id, bytes);
}

struct debug_link {
	char name[256];
	uint32_t crc;
	bool found;
};

static struct debug_link debug_link(const struct binary *file)
{
	struct debug_link link = { .found = false };
	Elf64_Shdr section;

	if (!binary_section_named(file, ".gnu_debuglink", &section))
		return link;

	struct binary_bytes content = binary_section_bytes(file, &section);
	size_t length = content.data ? strnlen((const char *)content.data, content.bytes) : 0;
	size_t crc_at = (length + 1 + 3) & ~(size_t)3;

	/* a name, not a path: it must not lead to another directory */
	if (!length || length >= sizeof(link.name) || crc_at + 4 > content.bytes ||
	    memchr(content.data, '/', length))
		return link;
	memcpy(link.name, content.data, length);
	memcpy(&link.crc, content.data + crc_at, 4);
	link.found = true;
	return link;
}

/* Opens `path` if it belongs to `file`; else frees `path`. */
static bool accept(const struct binary *file, const struct debug_link *link, char *path,
		   struct binary *out, char **out_path)
{
	if (path && binary_open(out, path) == BINARY_OK) {
		bool ours =
			file->build_id_bytes
				? same_id(out, file->build_id, file->build_id_bytes)
				: (link->found && crc32_of(out->data, out->bytes) == link->crc) ||
					  same_code(file, out);

		if (ours && has_debug(out)) {
			*out_path = path;
			return true;
		}
		binary_close(out);
	}
	free(path);
	return false;
}

bool debugfile_open(const struct binary *file, char *path, struct binary *out, char **out_path)
{
	struct debug_link link = debug_link(file);

	return accept(file, &link, path, out, out_path);
}

bool debugfile_alternate(const struct binary *file, const uint8_t **id, size_t *bytes)
{
	Elf64_Shdr section;

	if (!binary_section_named(file, ".gnu_debugaltlink", &section))
		return false;

	/* a path, its end, the build-id */
	struct binary_bytes content = binary_section_bytes(file, &section);
	size_t length = content.data ? strnlen((const char *)content.data, content.bytes) + 1 : 0;

	if (!length || length >= content.bytes)
		return false;
	*id = content.data + length;
	*bytes = content.bytes - length;
	return true;
}

static char *join(const char *a, const char *b, const char *c)
{
	return mem_format("%s%s%s", a, b, c);
}

bool debugfile_find(const struct binary *file, const char *path, const char *const *debug_dirs,
		    struct binary *out, char **out_path)
{
	struct debug_link link = debug_link(file);
	char *real = realpath(path, NULL),
	     *by_id = debugfile_by_id(file->build_id, file->build_id_bytes, debug_dirs);
	bool found = by_id && accept(file, &link, by_id, out, out_path);

	if (!found && real) {
		char *name = strrchr(real, '/') + 1;
		char *base = mem_text(name);

		*name = 0; /* `real` is the directory now, with its slash */
		if (link.found) {
			found = (strcmp(link.name, base) &&
				 accept(file, &link, join(real, "", link.name), out, out_path)) ||
				accept(file, &link, join(real, ".debug/", link.name), out,
				       out_path);
		}
		/* a directory of the user's may have the system's layout, be flat, or hold
		 * unstripped files */
		for (const char *const *dir = debug_dirs; !found && dir && *dir; dir++) {
			char *inside = join(*dir, real, "");

			if (is_file(*dir)) {
				found = accept(file, &link, mem_text(*dir), out, out_path);
				free(inside);
				continue;
			}
			found = (link.found &&
				 accept(file, &link, join(inside, link.name, ""), out, out_path)) ||
				(link.found &&
				 accept(file, &link, join(*dir, "/", link.name), out, out_path)) ||
				accept(file, &link, join(*dir, "/", base), out, out_path);
			if (!found) {
				char *flat = join(*dir, "/", base);

				found = accept(file, &link, join(flat, ".debug", ""), out,
					       out_path);
				free(flat);
			}
			free(inside);
		}
		if (!found && link.found)
			found = accept(file, &link, join(SYSTEM_DIR, real, link.name), out,
				       out_path);
		free(base);
	}
	free(real);
	return found;
}

bool debugfile_embedded(const struct binary *file, struct binary *out)
{
	Elf64_Shdr section;
	struct binary_bytes packed = { 0 };

	if (binary_section_named(file, ".gnu_debugdata", &section))
		packed = binary_section_bytes(file, &section);
	if (!packed.data)
		return false;
	/* the unpacked size is in the file's index, which isn't trusted either: double until it
	 * fits */
	for (size_t room = packed.bytes * 8 + 65536; room <= EMBEDDED_MAX; room *= 2) {
		uint8_t *data = malloc(room);
		uint64_t memory = EMBEDDED_MEMORY;
		size_t in = 0, bytes = 0;
		lzma_ret result =
			data ? lzma_stream_buffer_decode(&memory, 0, NULL, packed.data, &in,
							 packed.bytes, data, &bytes, room)
			     : LZMA_MEM_ERROR;

		if (result == LZMA_OK)
			return binary_open_memory(out, data, bytes) == BINARY_OK;
		free(data);
		if (result != LZMA_BUF_ERROR)
			return false;
	}
	return false;
}
