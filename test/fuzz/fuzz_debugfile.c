/* SPDX-License-Identifier: Apache-2.0 */
/*
 * fuzz_debugfile.c: damaged debug files (.dwp, .dwo, separate, packed with zstd, alternate) give
 * fewer names, never a crash, an endless loop or memory without bound.
 *
 * A small program is compiled in each way; then the file that is not the program itself is damaged
 * in a fixed sequence (the seed is a constant, so a failure repeats): bytes set, words set to
 * values that hurt, cut short, and by hand: indexes with absurd counts, sizes that unpack to
 * anything. Each victim is asked about in a child process. `fuzz_debugfile N` runs N mutations a
 * kind, 75 without an argument (300 in the long form).
 */
#include "../unit/fixtures/sym_fixture.h"
#include "victim.h"

#include <elf.h>
#include <signal.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

enum { SECONDS_MAX = 20, BATCH = 25, RSS_MAX_KB = 600 << 10 };

static struct content read_file(const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	return content_read(path);
}

static bool write_file(const char *name, const uint8_t *data, size_t bytes)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, name);
	return content_write(path, data, bytes);
}

/* The contents of section `name` in `file`, or of one taken by chance. */
static struct content section_of(struct content file, const char *name)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file.data;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(file.data + header->e_shoff);
	const char *text = (const char *)file.data + sections[header->e_shstrndx].sh_offset;
	size_t chance = next_random() % header->e_shnum;

	for (size_t i = 0; i < header->e_shnum; i++) {
		const Elf64_Shdr *s = &sections[i];

		if ((name ? !strcmp(text + s->sh_name, name) : i == chance) &&
		    s->sh_type != SHT_NOBITS && s->sh_size)
			return (struct content){ file.data + s->sh_offset, s->sh_size };
	}
	return (struct content){ NULL, 0 };
}

/* Most of a file is text: half of the damage goes to where structure is. */
static size_t damage(uint8_t *victim, struct content good)
{
	unsigned changes = 1 + (unsigned)(next_random() % 6);

	memcpy(victim, good.data, good.bytes);
	for (unsigned i = 0; i < changes; i++) {
		uint64_t kind = next_random() % 4;
		struct content part = kind == 0	  ? section_of(good, ".debug_cu_index")
				      : kind == 1 ? section_of(good, ".debug_abbrev.dwo")
				      : kind == 2 ? section_of(good, NULL)
						  : good;

		if (!part.data)
			part = good;

		size_t at = (size_t)(part.data - good.data) + next_random() % part.bytes;

		/* headers of sections, counts of indexes and of units are in the first bytes */
		if (next_random() % 3 == 0)
			at = (size_t)(part.data - good.data) +
			     next_random() % (part.bytes < 64 ? part.bytes : 64);
		if (next_random() % 2)
			victim[at] = (uint8_t)next_random();
		else
			put_hurtful(victim, good.bytes, at);
	}
	return next_random() % 6 ? good.bytes : next_random() % good.bytes;
}

static void ask(const char *program, const char *symbols)
{
	const char *dirs[] = { symbols, NULL };
	struct sym_options options = { .debug_dirs = symbols ? dirs : NULL, .no_cache = true };
	struct sym *sym = fixture_sym(&options);
	struct sym_module *module = fixture_open(sym, program);
	struct sym_frame frames[8];

	sym_module_settle(module);
	for (uint64_t vaddr = 0x1000; vaddr < 0x3000; vaddr += 24)
		sym_frames(module, vaddr, frames, 8);
	sym_destroy(sym);
}

/* Damages `name` in every way and asks about `program`. */
static void fuzz(const char *label, const char *name, const char *program, const char *symbols,
		 unsigned long count)
{
	struct content good = read_file(name);
	uint8_t *victim = malloc(good.bytes + 1);
	char path[256], place[256];
	unsigned long crashed = 0;
	struct rusage usage;

	snprintf(path, sizeof(path), "%s/%s", fixture_dir, program);
	snprintf(place, sizeof(place), "%s/%s", fixture_dir, symbols ? symbols : "");
	for (unsigned long at = 0; good.data && victim && at < count; at += BATCH) {
		uint64_t start = random_state;
		int status;

		fflush(stdout);

		pid_t child = fork();

		if (!child) {
			for (unsigned i = 0; i < BATCH; i++) {
				size_t bytes = damage(victim, good);

				alarm(SECONDS_MAX);
				if (!write_file(name, victim, bytes))
					_exit(1);
				ask(path, symbols ? place : NULL);
			}
			_exit(0);
		}
		if (child < 0 || waitpid(child, &status, 0) != child)
			exit(1);
		random_state = start;
		for (unsigned i = 0; i < BATCH; i++)
			damage(victim, good);
		if (!WIFEXITED(status) || WEXITSTATUS(status)) {
			crashed++;
			printf("# %s, mutations %lu to %lu: status %#x, kept as "
			       "/tmp/shiny-fuzz-%s\n",
			       label, at, at + BATCH, (unsigned)status, label);
			if (!fixture_run("cp %s /tmp/shiny-fuzz-%s", name, label))
				printf("# could not keep it\n");
		}
	}
	getrusage(RUSAGE_CHILDREN, &usage);
	fixture_result(good.data && !crashed && usage.ru_maxrss < RSS_MAX_KB, label,
		       "%lu batches of %d crashed, %zu bytes, at most %ld KB used", crashed, BATCH,
		       good.bytes, usage.ru_maxrss);
	/* the next kinds want it whole */
	if (good.data && !write_file(name, good.data, good.bytes))
		exit(1);
	free(victim);
	free(good.data);
}

/* What chance would not find: numbers in the index and in the header of a packed section. */
static void by_hand(void)
{
	struct content dwp = read_file("program.dwp"), packed = read_file("packed");
	char path[256];
	unsigned survived = 0, expected = 0;

	for (size_t field = 0; dwp.data && field < 4; field++)
		for (size_t i = 0; i < HURTFUL; i++) {
			struct content index = section_of(dwp, ".debug_cu_index");
			uint32_t before, value = (uint32_t)hurtful[i];

			memcpy(&before, index.data + 4 * field, 4);
			memcpy(index.data + 4 * field, &value, 4);
			expected++;
			snprintf(path, sizeof(path), "%s/program", fixture_dir);
			if (write_file("program.dwp", dwp.data, dwp.bytes)) {
				ask(path, NULL);
				survived++;
			}
			memcpy(index.data + 4 * field, &before, 4);
		}
	if (dwp.data && !write_file("program.dwp", dwp.data, dwp.bytes))
		exit(1);
	for (size_t i = 0; packed.data && i < HURTFUL; i++) {
		Elf64_Chdr *header = (Elf64_Chdr *)section_of(packed, ".debug_info").data;
		uint64_t before = header->ch_size;

		header->ch_size = hurtful[i];
		expected++;
		snprintf(path, sizeof(path), "%s/packed", fixture_dir);
		if (write_file("packed", packed.data, packed.bytes)) {
			ask(path, NULL);
			survived++;
		}
		header->ch_size = before;
	}
	if (packed.data && !write_file("packed", packed.data, packed.bytes))
		exit(1);
	fixture_result(expected && survived == expected, "by-hand", "%u of %u", survived, expected);
	free(dwp.data);
	free(packed.data);
}

int main(int argc, char **argv)
{
	unsigned long count = argc > 1 ? strtoul(argv[1], NULL, 10) : fixture_is_long() ? 300 : 75;

	fixture_begin();
	if (!fixture_run("S=\"$OLDPWD\"/%s && clang -O1 -g -gdwarf-5 -gsplit-dwarf -c $S/split_a.c "
			 "-o a.o && "
			 "clang++ -O1 -g -gdwarf-5 -gsplit-dwarf -c $S/split_b.cc -o b.o && "
			 "clang++ a.o b.o -o program && "
			 "llvm-dwp -e program -o program.dwp && mkdir away && mv *.dwo away && cp "
			 "program moved && "
			 "g++ -O1 -g -gdwarf-4 -fno-omit-frame-pointer $S/split_b.cc -x c "
			 "$S/split_a.c -o whole && "
			 "cp whole packed && objcopy --compress-debug-sections=zstd packed && "
			 "objcopy --only-keep-debug whole whole.debug && "
			 "cp whole stripped && strip stripped",
			 fixture_source())) {
		printf("skip fuzz_debugfile: clang, llvm-dwp or objcopy with zstd\n");
		return 77;
	}
	by_hand();
	fuzz("dwp", "program.dwp", "program", NULL, count);
	fuzz("dwo", "away/b.dwo", "moved", "away", count);
	fuzz("zstd", "packed", "packed", NULL, count);
	fuzz("debug", "whole.debug", "stripped", "whole.debug", count);
	return fixture_end();
}
