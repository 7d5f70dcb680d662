/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "program.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* Returns 0 if execvp would run the file, else errno. */
static int runnable(const char *path)
{
	struct stat st;

	if (stat(path, &st) != 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) == 0 ? 0 : errno;
}

struct shiny_err *program_find(const char *name, char out[PROGRAM_PATH])
{
	const char *path = getenv("PATH");
	int why = ENOENT;

	if (strlen(name) >= PROGRAM_PATH / 2)
		return shiny_err_os(ENAMETOOLONG, "cannot run %.64s...", name);
	if (strchr(name, '/')) {
		why = runnable(name);
		if (!why) {
			snprintf(out, PROGRAM_PATH, "%s", name);
			return NULL;
		}
		return shiny_err_advise(
			shiny_err_os(why, "cannot run %s", name),
			why == EACCES ? "make it executable (chmod +x), or name its interpreter"
				      : "check the path");
	}
	for (path = path ? path : "/usr/local/bin:/usr/bin:/bin"; *name; path++) {
		size_t length = strcspn(path, ":");
		int found;

		if (length < PROGRAM_PATH / 2) {
			snprintf(out, PROGRAM_PATH, "%.*s%s%s", (int)length, path,
				 length ? "/" : "", name);
			found = runnable(out);
			if (!found)
				return NULL;
			if (found == EACCES)
				why = found;
		}
		path += length;
		if (!*path)
			break;
	}
	return shiny_err_advise(shiny_err_os(why, "cannot run %s", name),
				access(name, X_OK) == 0 ? "it is not on PATH; perhaps ./%s"
							: "there is no %s on PATH",
				name);
}

void program_self(char out[PROGRAM_PATH])
{
	ssize_t n = readlink("/proc/self/exe", out, PROGRAM_PATH - 1);

	out[n > 0 ? n : 0] = 0;
}

struct shiny_err *program_library(const char *given, char out[PROGRAM_PATH])
{
	static const char *const places[] = { "libshiny.so", "../lib/libshiny.so",
					      "../lib/x86_64-linux-gnu/libshiny.so" };
	char self[PROGRAM_PATH], candidate[PROGRAM_PATH + 64], *slash;
	bool found = false;

	if (given) {
		if (!realpath(given, out))
			return shiny_err_os(errno, "cannot use the library %s", given);
		found = true;
	}
	program_self(self);
	slash = strrchr(self, '/');
	for (size_t i = 0; !found && slash && i < sizeof(places) / sizeof(*places); i++) {
		snprintf(candidate, sizeof(candidate), "%.*s/%s", (int)(slash - self), self,
			 places[i]);
		found = access(candidate, R_OK) == 0 && realpath(candidate, out);
	}
	if (!found)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
						  "cannot find libshiny.so beside %s or in ../lib",
						  self),
					"build it with `make`, or name it with --library FILE");
	if (strpbrk(out, " :"))
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "cannot preload %s: the dynamic linker splits LD_PRELOAD at "
				  "spaces and colons",
				  out),
			"put it where the path has neither, and name it with --library FILE");
	return NULL;
}

/* scripts/preload-tree creates the directories that this part of a path names */
static const char by_kind[] = "/shiny/$LIB/";

void program_preload(const char *library, char out[PROGRAM_PATH])
{
	const char *name = strrchr(library, '/');
	int bytes = name ? snprintf(out, PROGRAM_PATH, "%.*s%s%s", (int)(name - library), library,
				    by_kind, name + 1)
			 : PROGRAM_PATH;
	void *loaded = NULL;

	dlerror();
	if (bytes < PROGRAM_PATH)
		loaded = dlopen(out, RTLD_NOLOAD | RTLD_LAZY); /* a file that exists and is not
		                                                * loaded is no error */
	if (bytes >= PROGRAM_PATH || dlerror())
		snprintf(out, PROGRAM_PATH, "%s", library);
	if (loaded)
		dlclose(loaded);
}

void program_preloaded(char *path)
{
	char *kind = strstr(path, by_kind);

	if (kind)
		memmove(kind, kind + sizeof(by_kind) - 2, strlen(kind + sizeof(by_kind) - 2) + 1);
}

/* ---- the file ---- */

struct view {
	const unsigned char *at;
	size_t bytes;
};

/* Returns [offset, offset + size), or NULL if that is not inside the file. */
static const void *inside(const struct view *v, uint64_t offset, uint64_t size)
{
	return offset <= v->bytes && size <= v->bytes - offset ? v->at + offset : NULL;
}

static const char *string_at(const struct view *v, uint64_t table, uint64_t table_bytes,
			     uint64_t offset)
{
	const char *s =
		offset < table_bytes ? inside(v, table + offset, table_bytes - offset) : NULL;

	return s && memchr(s, 0, (size_t)(table_bytes - offset)) ? s : "";
}

static void look_at_dynsym(const struct view *v, const Elf64_Shdr *symbols,
			   const Elf64_Shdr *strings, bool *own_malloc, bool *own_new)
{
	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size; at += sizeof(Elf64_Sym)) {
		const void *raw = inside(v, symbols->sh_offset + at, sizeof(Elf64_Sym));
		const char *name;
		Elf64_Sym symbol;

		if (!raw)
			return;
		memcpy(&symbol, raw, sizeof(symbol));
		if (symbol.st_shndx == SHN_UNDEF || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC)
			continue;
		name = string_at(v, strings->sh_offset, strings->sh_size, symbol.st_name);
		*own_malloc = *own_malloc || strcmp(name, "malloc") == 0;
		*own_new = *own_new || strcmp(name, "_Znwm") == 0;
	}
}

/* Each object that a sanitizer compiles refers to the function that begins it. */
static void look_for_sanitizer(const struct view *v, const Elf64_Shdr *symbols,
			       const Elf64_Shdr *strings, struct program_look *out)
{
	static const struct {
		const char *begin, *name;
	} known[] = {
		{ "__asan_init", "AddressSanitizer" },
		{ "__tsan_init", "ThreadSanitizer" },
		{ "__msan_init", "MemorySanitizer" },
		{ "__lsan_init", "LeakSanitizer" },
	};

	for (uint64_t at = 0; at + sizeof(Elf64_Sym) <= symbols->sh_size && !out->sanitizer;
	     at += sizeof(Elf64_Sym)) {
		const Elf64_Sym *raw = inside(v, symbols->sh_offset + at, sizeof(*raw));
		Elf64_Sym symbol;
		const char *name;

		if (!raw)
			return;
		memcpy(&symbol, raw, sizeof(symbol));
		name = string_at(v, strings->sh_offset, strings->sh_size, symbol.st_name);
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (strcmp(name, known[i].begin) == 0)
				out->sanitizer = known[i].name;
	}
}

static void look_at_dynamic(const struct view *v, const Elf64_Shdr *dynamic,
			    const Elf64_Shdr *strings, struct program_look *out)
{
	static const char *const known[] = {"libjemalloc", "libtcmalloc", "libmimalloc"};

	for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= dynamic->sh_size; at += sizeof(Elf64_Dyn)) {
		const void *raw = inside(v, dynamic->sh_offset + at, sizeof(Elf64_Dyn));
		Elf64_Dyn entry;

		if (!raw)
			return;
		memcpy(&entry, raw, sizeof(entry));
		if (entry.d_tag == DT_SONAME ||
		    (entry.d_tag == DT_NEEDED && out->kind == PROGRAM_STATIC))
			out->kind = out->kind == PROGRAM_STATIC ? PROGRAM_SHARED : out->kind;
		if (entry.d_tag != DT_NEEDED)
			continue;
		for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
			if (strncmp(string_at(v, strings->sh_offset, strings->sh_size,
					      entry.d_un.d_val),
				    known[i], strlen(known[i])) == 0)
				out->allocator = known[i];
	}
}

static void look_at_note(const struct view *v, const Elf64_Shdr *section, struct program_look *out)
{
	const unsigned char *raw = inside(v, section->sh_offset, section->sh_size);
	Elf64_Nhdr note;

	if (!raw || section->sh_size < sizeof(note) + 4)
		return;
	memcpy(&note, raw, sizeof(note));
	if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > 32 ||
	    sizeof(note) + 4 + note.n_descsz > section->sh_size)
		return;
	for (uint32_t i = 0; i < note.n_descsz; i++)
		snprintf(out->build_id + 2 * i, 3, "%02x", raw[sizeof(note) + 4 + i]);
}

static void look_at_sections(const struct view *v, const Elf64_Ehdr *h, struct program_look *out,
			     bool *own_malloc)
{
	bool own_new = false;
	const Elf64_Shdr *raw = inside(v, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));
	Elf64_Shdr names = { 0 };

	if (!raw || h->e_shentsize != sizeof(Elf64_Shdr))
		return;
	if (h->e_shstrndx < h->e_shnum)
		memcpy(&names, raw + h->e_shstrndx, sizeof(names));
	for (unsigned i = 0; i < h->e_shnum; i++) {
		Elf64_Shdr section, linked = { 0 };

		memcpy(&section, raw + i, sizeof(section));
		if (section.sh_link < h->e_shnum)
			memcpy(&linked, raw + section.sh_link, sizeof(linked));
		if (section.sh_type == SHT_DYNSYM || section.sh_type == SHT_SYMTAB)
			look_for_sanitizer(v, &section, &linked, out);
		if (section.sh_type == SHT_DYNSYM)
			look_at_dynsym(v, &section, &linked, own_malloc, &own_new);
		else if (section.sh_type == SHT_DYNAMIC)
			look_at_dynamic(v, &section, &linked, out);
		else if (section.sh_type == SHT_SYMTAB)
			out->symbols = true;
		else if (section.sh_type == SHT_NOTE)
			look_at_note(v, &section, out);
		if (strcmp(string_at(v, names.sh_offset, names.sh_size, section.sh_name),
			   ".debug_info") == 0)
			out->dwarf = true;
		if (strcmp(string_at(v, names.sh_offset, names.sh_size, section.sh_name),
			   ".note.go.buildid") == 0 ||
		    strcmp(string_at(v, names.sh_offset, names.sh_size, section.sh_name),
			   ".go.buildinfo") == 0)
			out->go = true;
	}
}

/* The allocator's own messages and file names survive stripping. They are constants: code and
 * relocations, nearly all of a large file, are not read. */
static bool has_partition_alloc(const struct view *v, const Elf64_Ehdr *h)
{
	const Elf64_Shdr *raw = inside(v, h->e_shoff, (uint64_t)h->e_shnum * sizeof(Elf64_Shdr));

	for (unsigned i = 0; raw && i < h->e_shnum; i++) {
		Elf64_Shdr section;
		const char *bytes;

		memcpy(&section, raw + i, sizeof(section));
		if (section.sh_type != SHT_PROGBITS ||
		    (section.sh_flags & (SHF_ALLOC | SHF_WRITE | SHF_EXECINSTR)) != SHF_ALLOC)
			continue;
		bytes = inside(v, section.sh_offset, section.sh_size);
		if (bytes && (memmem(bytes, section.sh_size, "partition_alloc", 15) ||
			      memmem(bytes, section.sh_size, "PartitionAlloc", 14)))
			return true;
	}
	return false;
}

static void look_at_elf(const struct view *v, struct program_look *out)
{
	const Elf64_Ehdr *h = (const void *)v->at;
	bool own_malloc = false;

	if (v->bytes < sizeof(*h) || h->e_ident[EI_CLASS] != ELFCLASS64 ||
	    h->e_machine != EM_X86_64) {
		out->kind = PROGRAM_FOREIGN;
		out->bits32 = v->bytes > EI_CLASS && h->e_ident[EI_CLASS] == ELFCLASS32;
		return;
	}
	out->kind = PROGRAM_STATIC;
	for (unsigned i = 0; i < h->e_phnum && h->e_phentsize == sizeof(Elf64_Phdr); i++) {
		const void *raw = inside(v, h->e_phoff + (uint64_t)i * sizeof(Elf64_Phdr),
					 sizeof(Elf64_Phdr));
		const char *name;
		Elf64_Phdr segment;

		if (!raw)
			return;
		memcpy(&segment, raw, sizeof(segment));
		if (segment.p_type != PT_INTERP)
			continue;
		out->kind = PROGRAM_ELF;
		name = inside(v, segment.p_offset, segment.p_filesz);
		if (name)
			snprintf(out->interpreter, sizeof(out->interpreter), "%.*s",
				 (int)segment.p_filesz, name);
	}
	look_at_sections(v, h, out, &own_malloc);
	if (!own_malloc)
		return;
	out->malloc = has_partition_alloc(v, h) ? PROGRAM_MALLOC_PARTITION : PROGRAM_MALLOC_OWN;
}

/* Copies the word at `at` of a script's first line; returns where it ends. */
static size_t take_word(const struct view *v, size_t at, char *out, size_t room)
{
	size_t length = 0;

	while (at < v->bytes && (v->at[at] == ' ' || v->at[at] == '\t'))
		at++;
	while (at + length < v->bytes && !strchr(" \t\r\n", v->at[at + length]))
		length++;
	snprintf(out, room, "%.*s", (int)(length < room ? length : room - 1),
		 (const char *)v->at + at);
	return at + length;
}

struct shiny_err *program_look(const char *path, struct program_look *out)
{
	struct program_look look = {.kind = PROGRAM_OTHER};
	struct view v = {.bytes = 0};
	struct stat st;
	void *map = MAP_FAILED;
	int fd = open(path, O_RDONLY | O_CLOEXEC), why;

	if (fd < 0 || fstat(fd, &st) != 0) {
		why = errno;
		if (fd >= 0)
			close(fd);
		return shiny_err_os(why, "cannot read %s", path);
	}
	look.privileged = (st.st_mode & S_ISUID) != 0 ||
			  (st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) ||
			  fgetxattr(fd, "security.capability", NULL, 0) > 0;
	if (S_ISREG(st.st_mode) && st.st_size > 0)
		map = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (map != MAP_FAILED) {
		v = (struct view){map, (size_t)st.st_size};
		if (v.bytes > SELFMAG && memcmp(v.at, ELFMAG, SELFMAG) == 0) {
			look_at_elf(&v, &look);
		} else if (v.bytes > 2 && v.at[0] == '#' && v.at[1] == '!') {
			size_t at = 2;

			look.kind = PROGRAM_SCRIPT;
			at = take_word(&v, at, look.interpreter, sizeof(look.interpreter));
			take_word(&v, at, look.argument, sizeof(look.argument));
		}
		munmap(map, v.bytes);
	}
	*out = look;
	return NULL;
}

size_t program_behind_loader(char *const *arguments, size_t count)
{
	static const char *const with_value[] = { "--library-path", "--inhibit-rpath", "--audit",
						  "--preload", "--argv0", "--glibc-hwcaps-prepend",
						  "--glibc-hwcaps-mask" };
	const char *base = count ? strrchr(arguments[0], '/') : NULL;
	size_t at = 1;

	base = base ? base + 1 : count ? arguments[0] : "";
	if (strncmp(base, "ld-linux", 8) != 0 && strcmp(base, "ld.so") != 0)
		return 0;
	while (at < count && strncmp(arguments[at], "--", 2) == 0) {
		for (size_t i = 0; i < sizeof(with_value) / sizeof(*with_value); i++)
			if (strcmp(arguments[at], with_value[i]) == 0) {
				at++;
				break;
			}
		at++;
	}
	return at < count ? at : 0;
}

const char *program_obstacle(const struct program_look *look)
{
	if (look->kind == PROGRAM_STATIC && look->go)
		return "it is a statically linked Go program: no library can be preloaded into it, "
		       "and its heap is the Go run time's own";
	if (look->kind == PROGRAM_STATIC)
		return "it is statically linked, so no library can be preloaded into it";
	if (look->kind == PROGRAM_SHARED)
		return "it is a shared library: it is recorded in the programs that load it";
	if (look->kind == PROGRAM_FOREIGN)
		return "it is not an x86-64 program";
	if (look->privileged && geteuid() != 0)
		return "it is set-uid, set-gid or has file capabilities, and the dynamic linker "
		       "ignores preloaded libraries for it";
	return NULL;
}
