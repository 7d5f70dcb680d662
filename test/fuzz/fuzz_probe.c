/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_probe.c: the probe of damaged programs, and damaged results in the cache: no crash, no hang,
 * bounded memory; what is said to be sure can be followed.
 *
 * Programs with a heap of numbered types (test/e2e/collected.cxx), in both shapes, are damaged in a
 * fixed sequence: most of it in the code, the array of types, the relocations and the headers. Each
 * victim is probed in a child process. A result's file is damaged, too, and its checksums made
 * right again: whatever then passes for good is read in full. `fuzz_probe N` runs N mutations of
 * each program, 150 without an argument (600 in the long form).
 */
#include "../unit/fixtures/sym_fixture.h"

#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "../../symbolizer/probe/probe_executable.h"
#include "../../symbolizer/probe/probe_file.h"
#include "victim.h"

/* A child that works longer than this on one victim hangs: the slowest honest one takes some tenths
 * of a second under a sanitizer. */
#define SECONDS_MAX 60
#define BATCH 25
#define FILE_BYTES_MAX (1u << 24)

/* Half of it in a section's content, each section as likely as the others. */
static size_t damage_at(const struct content *program)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)(const void *)program->data;
	const Elf64_Shdr *sections =
		(const Elf64_Shdr *)(const void *)(program->data + header->e_shoff);
	const Elf64_Shdr *section = &sections[next_random() % header->e_shnum];

	switch (next_random() % 6) {
	case 0: return next_random() % (sizeof(*header) + header->e_phnum * sizeof(Elf64_Phdr));
	case 1: return header->e_shoff + next_random() % (header->e_shnum * sizeof(*sections));
	case 2: /* the code */
		for (unsigned i = 0; i < header->e_shnum; i++)
			if (sections[i].sh_flags & SHF_EXECINSTR &&
			    sections[i].sh_size > section->sh_size)
				section = &sections[i];
		break;
	case 3: return next_random() % program->bytes;
	default: break;
	}
	if (section->sh_type == SHT_NOBITS || !section->sh_size)
		return next_random() % program->bytes;
	return section->sh_offset + next_random() % section->sh_size;
}

static size_t damage(uint8_t *victim, const struct content *program)
{
	unsigned changes = 1 + (unsigned)(next_random() % 12);

	memcpy(victim, program->data, program->bytes);
	for (unsigned i = 0; i < changes; i++) {
		size_t at = damage_at(program);

		if (next_random() % 3)
			victim[at] = (uint8_t)next_random();
		else
			put_hurtful(victim, program->bytes, at);
	}
	return next_random() % 8 ? program->bytes : next_random() % program->bytes;
}

/* Follows everything in a result. False: something in it isn't what it must be. */
static bool follow(const struct probe *probe)
{
	const struct shiny_probe_file *f = probe->file;
	size_t length = 0;

	if (f->entry_count > SHINY_PROBE_ENTRIES || f->index_limit < 2 ||
	    f->header_index_shift > 15 || f->type_count > 1u << 20)
		return false;
	for (uint32_t i = 0; i < f->entry_count; i++) {
		const struct shiny_probe_entry *e = &f->entries[i];

		/* who patches believes these */
		if (e->confidence >= SHINY_PROBE_HIGH && e->kind == SHINY_PROBE_ALLOCATE &&
		    (e->size > 5 || e->index > 5 || e->size == e->index || e->code_bytes < 16))
			return false;
		if (e->recipe_bytes) {
			const struct shiny_patch_recipe *recipe =
				(const void *)((const char *)f + e->recipe_at);

			if (recipe->expected_bytes > SHINY_PATCH_EXPECTED ||
			    recipe->code_bytes > SHINY_PATCH_CODE)
				return false;
		}
	}
	for (uint32_t i = 0; i < f->type_count; i++) {
		const struct shiny_probe_type *type = &probe_types(probe)[i];

		length += strlen(probe_text(probe, type->name));
		if (probe_type(probe, f->shape == SHINY_PROBE_SECTION ? type->index : type->info) !=
		    type)
			return false;
	}
	for (uint32_t i = 0; i < f->note_count; i++)
		length += strlen(probe_text(probe, probe_notes(probe)[i].text)) +
			  strlen(probe_text(probe, probe_notes(probe)[i].about));
	return length < FILE_BYTES_MAX;
}

static bool ask(const char *path)
{
	const struct probe_options options = { .no_cache = true };
	struct probe probe;
	struct shiny_err *err = probe_open(path, &options, &probe);
	bool good;

	if (err) {
		shiny_err_free(err);
		return true;
	}
	good = follow(&probe) && probe_file_good(probe.file, probe.file->file_bytes,
						 probe.file->build_id, probe.file->build_id_bytes);
	probe_close(&probe);
	return good;
}

static unsigned fuzz_program(const struct content *program, const char *name, unsigned long count)
{
	uint8_t *victim = malloc(program->bytes + 1);
	unsigned crashed = 0;
	char path[256];

	snprintf(path, sizeof(path), "%s/victim", fixture_dir);
	for (unsigned long at = 0; victim && at < count;) {
		unsigned long end = at + BATCH < count ? at + BATCH : count;
		uint64_t start_state = random_state;
		int status;
		pid_t child;

		fflush(stdout);
		child = fork();
		if (!child) {
			for (; at < end; at++) {
				size_t length = damage(victim, program);

				alarm(SECONDS_MAX);
				if (!content_write(path, victim, length) || !ask(path))
					_exit(1);
			}
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			return 1;
		random_state = start_state; /* the parent's generator follows the child's */
		for (; at < end; at++)
			damage(victim, program);
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			crashed++;
			printf("# %s, mutations %lu to %lu: status %#x, victim kept as "
			       "/tmp/shiny-fuzz-probe\n",
			       name, end - BATCH, end, (unsigned)status);
			if (!fixture_run("cp victim /tmp/shiny-fuzz-probe"))
				printf("# could not keep it\n");
		}
	}
	free(victim);
	return crashed;
}

/* A damaged result whose checksums are right. */
static bool fuzz_result(const char *path, unsigned long count, unsigned long *believed)
{
	const struct probe_options options = { .no_cache = true };
	struct probe probe, other = { .file = NULL };
	struct shiny_err *err = probe_open(path, &options, &probe);
	const size_t checked = offsetof(struct shiny_probe_file, version);
	bool good = true;

	if (err) {
		shiny_err_free(err);
		return false;
	}
	other.file = malloc(probe.file->file_bytes);
	for (unsigned long i = 0; i < count && other.file; i++) {
		size_t bytes = probe.file->file_bytes;
		uint8_t *at = (uint8_t *)other.file;

		memcpy(at, probe.file, bytes);
		for (uint64_t n = 1 + next_random() % 3; n; n--) {
			size_t place =
				next_random() %
				(next_random() % 2 ? sizeof(struct shiny_probe_file) : bytes);

			at[place] = (uint8_t)(next_random() % 2	  ? next_random()
					      : next_random() % 2 ? 0xff
								  : 0);
		}
		if (other.file->head_bytes >= sizeof(*other.file) &&
		    other.file->head_bytes <= bytes) {
			other.file->body_checksum = XXH3_64bits(at + other.file->head_bytes,
								bytes - other.file->head_bytes);
			other.file->head_checksum =
				XXH3_64bits(at + checked, other.file->head_bytes - checked);
		}
		if (!probe_file_good(other.file, bytes, probe.file->build_id,
				     probe.file->build_id_bytes))
			continue;
		++*believed;
		/* its rows may be wrong, but none leads outside */
		for (uint32_t k = 0; k < other.file->type_count; k++)
			good &= strlen(probe_text(&other, probe_types(&other)[k].name)) < bytes;
		for (uint32_t k = 0; k < other.file->note_count; k++)
			good &= strlen(probe_text(&other, probe_notes(&other)[k].text)) < bytes;
		for (uint32_t k = 0; k < other.file->entry_count; k++)
			good &= other.file->entries[k].recipe_at +
						(uint64_t)other.file->entries[k].recipe_bytes <=
					other.file->head_bytes ||
				!other.file->entries[k].recipe_bytes;
		probe_type(&other, next_random());
	}
	free(other.file);
	probe_close(&probe);
	return good;
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name, *command;
	} builds[] = {
		{ "section", "g++ -O2 -DSECTION" },
		{ "registered", "g++ -O2 -no-pie -fno-pie" },
		{ "clang-section", "clang++ -O2 -DSECTION" },
		{ "clang-registered", "clang++ -O2" },
	};
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : fixture_is_long() ? 600 : 150;
	unsigned tried = 0;

	fixture_begin();
	for (size_t i = 0; i < sizeof(builds) / sizeof(*builds); i++) {
		struct content program;
		unsigned long believed = 0;
		unsigned crashed;
		char path[256];

		snprintf(path, sizeof(path), "%s/program", fixture_dir);
		if (!fixture_have(strncmp(builds[i].command, "g++", 3) ? "clang++" : "g++"))
			continue;
		tried++;
		if (!fixture_run("%s -std=c++17 \"$OLDPWD\"/%s/../../e2e/collected.cxx -o program "
				 "&& strip program",
				 builds[i].command, fixture_source()) ||
		    !(program = content_read(path)).data) {
			fixture_result(false, builds[i].name, "it can't be compiled");
			continue;
		}
		crashed = fuzz_program(&program, builds[i].name, count);
		fixture_result(!crashed, builds[i].name, "%u batches of %d crashed, hung or lied",
			       crashed, BATCH);
		fixture_result(fuzz_result(path, count * 20, &believed) && believed &&
				       believed < count * 20,
			       "damaged result", "%lu of %lu believed", believed, count * 20);
		free(program.data);
	}
	if (!tried) {
		printf("skip fuzz_probe: there is no compiler\n");
		return 77;
	}
	return fixture_end();
}
