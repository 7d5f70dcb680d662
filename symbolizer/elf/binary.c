/* SPDX-License-Identifier: Apache-2.0 */
/* binary.c: see binary.h. */
#include "binary.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More than any linker writes: they bound the effect of a hostile header. */
#define SEGMENTS_MAX 4096
#define SECTIONS_MAX (1u << 20)

const void *binary_range(const struct binary *file, uint64_t offset, uint64_t bytes)
{
	if (offset > file->bytes || bytes > file->bytes - offset)
		return NULL;
	return file->data + offset;
}

/* Finds the build-id note in `bytes` bytes of notes, which are aligned to 4, or to 8 if the segment
 * says so. */
static bool note_build_id(struct binary *file, const uint8_t *notes, size_t bytes, uint64_t align)
{
	align = align == 8 ? 8 : 4;
	while (bytes >= sizeof(Elf64_Nhdr)) {
		Elf64_Nhdr note;

		memcpy(&note, notes, sizeof(note));
		uint64_t name = sizeof(note),
			 desc = (name + note.n_namesz + align - 1) & ~(align - 1);
		uint64_t next = (desc + note.n_descsz + align - 1) & ~(align - 1);

		if (desc > bytes || note.n_descsz > bytes - desc)
			return false;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 &&
		    !memcmp(notes + name, "GNU", 4) && note.n_descsz &&
		    note.n_descsz <= sizeof(file->build_id)) {
			memcpy(file->build_id, notes + desc, note.n_descsz);
			file->build_id_bytes = note.n_descsz;
			return true;
		}
		if (next >= bytes)
			return false;
		notes += next;
		bytes -= next;
	}
	return false;
}

static void find_build_id(struct binary *file)
{
	Elf64_Shdr section;

	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];
		const uint8_t *notes =
			segment->p_type == PT_NOTE
				? binary_range(file, segment->p_offset, segment->p_filesz)
				: NULL;

		if (notes && note_build_id(file, notes, segment->p_filesz, segment->p_align))
			return;
	}
	/* a separate debug file keeps its note in a section, while its segments point past the end
	 * of the file */
	for (size_t i = 0; binary_section(file, i, &section); i++) {
		struct binary_bytes notes = binary_section_bytes(file, &section);

		if (section.sh_type == SHT_NOTE && notes.data &&
		    note_build_id(file, notes.data, notes.bytes, section.sh_addralign))
			return;
	}
}

static enum binary_status parse(struct binary *file)
{
	Elf64_Ehdr header;
	const void *start = binary_range(file, 0, sizeof(header));

	if (!start)
		return BINARY_NOT_ELF;
	memcpy(&header, start, sizeof(header));
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) || header.e_ident[EI_CLASS] != ELFCLASS64 ||
	    header.e_ident[EI_DATA] != ELFDATA2LSB || header.e_machine != EM_X86_64)
		return BINARY_NOT_ELF;
	file->type = header.e_type;

	if (header.e_phnum && header.e_phnum <= SEGMENTS_MAX &&
	    header.e_phentsize == sizeof(Elf64_Phdr)) {
		size_t bytes = header.e_phnum * sizeof(Elf64_Phdr);
		const void *segments = binary_range(file, header.e_phoff, bytes);

		file->segments = segments ? malloc(bytes) : NULL;
		if (file->segments) {
			memcpy(file->segments, segments, bytes);
			file->segment_count = header.e_phnum;
		}
	}
	if (header.e_shoff && header.e_shentsize == sizeof(Elf64_Shdr)) {
		const void *first = binary_range(file, header.e_shoff, sizeof(Elf64_Shdr));
		uint64_t count = header.e_shnum;
		Elf64_Shdr zero;

		if (first) {
			/* section 0 holds numbers that need more than 16 bits */
			memcpy(&zero, first, sizeof(zero));
			if (!count)
				count = zero.sh_size;
			file->section_names =
				header.e_shstrndx == SHN_XINDEX ? zero.sh_link : header.e_shstrndx;
			if (count <= SECTIONS_MAX &&
			    binary_range(file, header.e_shoff, count * sizeof(Elf64_Shdr))) {
				file->section_offset = header.e_shoff;
				file->section_count = count;
			}
		}
	}
	find_build_id(file);
	return BINARY_OK;
}

enum binary_status binary_open(struct binary *file, const char *path)
{
	struct stat st;
	enum binary_status result = BINARY_NOT_ELF;
	/* O_NONBLOCK: the path may be a pipe by now */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	memset(file, 0, sizeof(*file));
	if (fd < 0)
		return BINARY_MISSING;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= (off_t)sizeof(Elf64_Ehdr)) {
		void *map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);

		if (map != MAP_FAILED) {
			/* look-ups jump about: reading ahead would only enlarge the process */
			madvise(map, (size_t)st.st_size, MADV_RANDOM);
			file->data = map;
			file->bytes = (size_t)st.st_size;
			file->mapped = true;
			result = parse(file);
		}
	}
	close(fd);
	if (result != BINARY_OK)
		binary_close(file);
	return result;
}

enum binary_status binary_open_memory(struct binary *file, uint8_t *data, size_t bytes)
{
	memset(file, 0, sizeof(*file));
	file->data = data;
	file->bytes = bytes;

	enum binary_status result = parse(file);

	if (result != BINARY_OK)
		binary_close(file);
	return result;
}

void binary_close(struct binary *file)
{
	if (file->mapped)
		munmap((void *)file->data, file->bytes);
	else
		free((void *)file->data);
	free(file->segments);
	memset(file, 0, sizeof(*file));
}

static const Elf64_Phdr *segment_of(const struct binary *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_LOAD && vaddr >= segment->p_vaddr &&
		    vaddr - segment->p_vaddr < segment->p_memsz)
			return segment;
	}
	return NULL;
}

uint64_t binary_room(const struct binary *file, uint64_t vaddr)
{
	const Elf64_Phdr *segment = segment_of(file, vaddr);
	uint64_t into = segment ? vaddr - segment->p_vaddr : 0;

	if (!segment || into >= segment->p_filesz)
		return 0;
	if (segment->p_offset > file->bytes || into >= file->bytes - segment->p_offset)
		return 0;

	uint64_t room = segment->p_filesz - into, in_file = file->bytes - segment->p_offset - into;

	return room < in_file ? room : in_file;
}

static bool is_loaded(const Elf64_Phdr *segment, uint32_t flags)
{
	return segment->p_type == PT_LOAD && (segment->p_flags & (PF_W | PF_X)) == flags;
}

bool binary_holds_constants(const struct binary *file, const Elf64_Phdr *segment)
{
	bool apart = false;

	for (size_t i = 0; i < file->segment_count; i++)
		apart = apart || is_loaded(&file->segments[i], 0);
	return is_loaded(segment, apart ? 0 : PF_X);
}

const void *binary_at(const struct binary *file, uint64_t vaddr, uint64_t bytes)
{
	const Elf64_Phdr *segment = segment_of(file, vaddr);

	if (!segment || binary_room(file, vaddr) < bytes)
		return NULL;
	return binary_range(file, segment->p_offset + (vaddr - segment->p_vaddr), bytes);
}

bool binary_word(const struct binary *file, uint64_t vaddr, uint64_t *out)
{
	const void *word = binary_at(file, vaddr, sizeof(*out));

	if (!word)
		return false;
	memcpy(out, word, sizeof(*out));
	return true;
}

const char *binary_string(const struct binary *file, uint64_t vaddr, size_t limit)
{
	uint64_t room = binary_room(file, vaddr);
	const char *text = room ? binary_at(file, vaddr, 1) : NULL;

	if (!text)
		return NULL;
	if (room > limit + 1)
		room = limit + 1;
	return memchr(text, 0, room) ? text : NULL;
}

uint32_t binary_flags(const struct binary *file, uint64_t vaddr)
{
	const Elf64_Phdr *segment = segment_of(file, vaddr);

	return segment ? segment->p_flags : 0;
}

const uint8_t *binary_code(const struct binary *file, uint64_t vaddr, uint64_t *room)
{
	if (!(binary_flags(file, vaddr) & PF_X))
		return NULL;
	*room = binary_room(file, vaddr);
	return *room ? binary_at(file, vaddr, 1) : NULL;
}

bool binary_read_only(const struct binary *file, uint64_t vaddr)
{
	uint32_t flags = binary_flags(file, vaddr);

	if ((flags & PF_R) && !(flags & PF_W))
		return true;
	for (size_t i = 0; i < file->segment_count; i++) {
		const Elf64_Phdr *segment = &file->segments[i];

		if (segment->p_type == PT_GNU_RELRO && vaddr >= segment->p_vaddr &&
		    vaddr - segment->p_vaddr < segment->p_memsz)
			return true;
	}
	return false;
}

bool binary_section(const struct binary *file, size_t index, Elf64_Shdr *out)
{
	if (index >= file->section_count)
		return false;
	memcpy(out, file->data + file->section_offset + index * sizeof(*out), sizeof(*out));
	return true;
}

struct binary_bytes binary_section_bytes(const struct binary *file, const Elf64_Shdr *section)
{
	const uint8_t *data = section->sh_type == SHT_NOBITS
				      ? NULL
				      : binary_range(file, section->sh_offset, section->sh_size);

	return (struct binary_bytes){ data, data ? section->sh_size : 0 };
}

static const char *binary_section_name(const struct binary *file, const Elf64_Shdr *section)
{
	Elf64_Shdr names;

	if (!binary_section(file, file->section_names, &names))
		return "";

	struct binary_bytes text = binary_section_bytes(file, &names);

	if (section->sh_name >= text.bytes ||
	    !memchr(text.data + section->sh_name, 0, text.bytes - section->sh_name))
		return "";
	return (const char *)text.data + section->sh_name;
}

bool binary_section_named(const struct binary *file, const char *name, Elf64_Shdr *out)
{
	for (size_t i = 1; binary_section(file, i, out); i++)
		if (!strcmp(binary_section_name(file, out), name))
			return true;
	return false;
}

bool binary_section_typed(const struct binary *file, uint32_t type, Elf64_Shdr *out)
{
	for (size_t i = 1; binary_section(file, i, out); i++)
		if (out->sh_type == type)
			return true;
	return false;
}

void binary_each_symbol(const struct binary *file, uint32_t type, unsigned kind,
			binary_symbol_fn *fn, void *context)
{
	Elf64_Shdr table, strings;
	struct binary_bytes symbols, names;

	if (!binary_section_typed(file, type, &table) ||
	    !binary_section(file, table.sh_link, &strings))
		return;
	symbols = binary_section_bytes(file, &table);
	names = binary_section_bytes(file, &strings);
	if (!symbols.data || !names.data || !names.bytes || names.data[names.bytes - 1])
		return;
	for (size_t at = 0; at + sizeof(Elf64_Sym) <= symbols.bytes; at += sizeof(Elf64_Sym)) {
		Elf64_Sym symbol;

		memcpy(&symbol, symbols.data + at, sizeof(symbol));
		if (symbol.st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol.st_info) == kind &&
		    symbol.st_name < names.bytes && symbol.st_value)
			fn(context, (const char *)names.data + symbol.st_name, &symbol);
	}
}

void binary_each_function(const struct binary *file, uint32_t type, binary_symbol_fn *fn,
			  void *context)
{
	binary_each_symbol(file, type, STT_FUNC, fn, context);
}
