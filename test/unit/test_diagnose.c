/* SPDX-License-Identifier: Apache-2.0 */
/*
 * test_diagnose.c: heaps of which each has one symptom, or none, written down moment by moment: a
 * second in steps, on a clock of 3 GHz. What the same shapes look like in a recording is
 * diagnose_test's matter, which cannot say how long anything takes.
 */
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/analysis/diagnose.h"
#include "session_writer.h"

enum { SECOND = 1000000000, STEPS = 40, TABLE = 1, MAKER = 2, TABLE_BYTES = 8 << 20, PAGE = 4096 };
static char path[64];
static struct store *session;
static uint64_t next_address;

static uint64_t make(uint64_t time, uint32_t stack, uint64_t size, uint64_t stride)
{
	uint64_t address = next_address;

	next_address += stride;
	put_event(session, (struct event){ .time = time,
					   .address = address,
					   .size = size,
					   .process = 1,
					   .thread = 1,
					   .stack = stack,
					   .kind = EVENT_ALLOC });
	return address;
}

static void end(uint64_t time, uint64_t address)
{
	put_event(session, (struct event){ .time = time,
					   .address = address,
					   .process = 1,
					   .thread = 1,
					   .kind = EVENT_FREE });
}

static void begin(bool table)
{
	session = session_begin(path, SECOND);
	must(store_put_number(session, "ticks_per_second", 3 * (uint64_t)SECOND));
	put_program(session);
	put_process(session, (struct store_process){ .id = 1 });
	must(store_put_thread(session,
			      &(struct store_thread){
				      .id = 1, .process = 1, .tid = 101, .name = "prog" }));
	put_site(session, TABLE, "table");
	put_site(session, MAKER, "maker");
	next_address = 0x10000000;
	if (table)
		make(1, TABLE, TABLE_BYTES, TABLE_BYTES);
}

/* Which symptom it has, SYMPTOMS: none; and whose it is. */
static void has(const char *name, enum symptom wanted)
{
	struct filter all;
	struct diagnose_known known;
	struct diagnoses d;
	char text[80];

	for (uint32_t stack = TABLE; stack <= MAKER; stack++)
		must(store_put_stat(session, &(struct store_stat){ .process = 1, .stack = stack }));
	must(store_finish(session, NULL));
	must(store_open(path, &session));
	must(filter_resolve(session, NULL, &all));
	must(diagnose_load(session, &all, 0, &known, &d));
	for (enum symptom s = 0; s < SYMPTOMS; s++) {
		enum diagnosis_verdict verdict = s == SYMPTOM_HARDWARE ? VERDICT_UNKNOWN
						 : s == wanted	       ? VERDICT_YES
								       : VERDICT_NO;

		snprintf(text, sizeof(text), "%s/%s", name, symptom_names[s]);
		checkf(text, d.at[s].verdict == verdict, "%s: %s", verdict_names[d.at[s].verdict],
		       d.at[s].measure);
		snprintf(text, sizeof(text), "%s/%s/advice", name, symptom_names[s]);
		check(text, !d.at[s].advice == (verdict != VERDICT_YES),
		      "advice for what is not there, or none");
	}
	if (wanted == SYMPTOM_GROWTH) {
		bool kept = strstr(d.at[wanted].cause, "a leak") != NULL;

		snprintf(text, sizeof(text), "%s/cause", name);
		checkf(text, kept == (strcmp(name, "growth by survivors") != 0), "%s",
		       d.at[wanted].cause);
	}
	if (wanted != SYMPTOMS) {
		const char *first = d.at[wanted].rows[0].name;

		snprintf(text, sizeof(text), "%s/whose", name);
		checkf(text, first && strncmp(first, "maker", 5) == 0, "%s",
		       first ? first : "nobody's");
	}
	diagnose_deinit(&d);
	diagnose_forget(&known);
	filter_deinit(&all);
	store_close(session);
}

static uint64_t step_time(int step)
{
	return 1000 + (uint64_t)step * (SECOND / STEPS);
}

int main(void)
{
	static uint64_t blocks[512], all[64 * STEPS];

	snprintf(path, sizeof(path), "/tmp/shiny-test-diagnose-%d.shiny", (int)getpid());
	begin(true);
	has("calm", SYMPTOMS);

	begin(true); /* 150 + 100 cycles a block: 150,000 blocks a second are 1.25 % of 3 GHz */
	for (int i = 0; i < 150000; i++)
		end(1000 + (uint64_t)i * 6000 + 100, make(1000 + (uint64_t)i * 6000, MAKER, 40, 0));
	has("churn", SYMPTOM_CHURN);
	begin(true); /* 0.75 % */
	for (int i = 0; i < 90000; i++)
		end(1000 + (uint64_t)i * 10000 + 100,
		    make(1000 + (uint64_t)i * 10000, MAKER, 40, 0));
	has("less churn", SYMPTOMS);

	begin(true); /* 12 MiB in the middle, 16 MiB at the end */
	for (int step = 0; step < STEPS; step++)
		for (unsigned i = 0; i < 64; i++)
			make(step_time(step) + i, MAKER, 3276, 3276);
	has("growth", SYMPTOM_GROWTH);
	begin(true); /* the same, of three blocks of which two are freed */
	for (int step = 0; step < STEPS; step++)
		for (unsigned i = 0; i < 64; i++) {
			make(step_time(step) + 4 * i, MAKER, 3276, 3276);
			for (unsigned k = 1; k <= 2; k++)
				end(step_time(step) + 4 * i + k,
				    make(step_time(step) + 4 * i + k, MAKER, 3276, 3276));
		}
	has("growth by survivors", SYMPTOM_GROWTH);
	begin(true); /* a twentieth more at the end than in the middle */
	for (int step = 0; step < STEPS; step++)
		for (unsigned i = 0; i < 8; i++)
			make(step_time(step) + i, MAKER, 3276, 3276);
	has("less growth", SYMPTOMS);
	/* 8 MiB, none of them there at first: the peak is twice the median, and no spike. Then as
	 * much is freed in the last moment. */
	for (int freed = 0; freed < 2; freed++) {
		begin(false);
		for (int step = 0; step < STEPS; step++)
			for (unsigned i = 0; i < 64; i++)
				all[64 * step + i] = make(step_time(step) + i, MAKER, 3276, 3276);
		for (unsigned i = 0; freed && i < 64 * STEPS; i++)
			end(SECOND - 100000 + i, all[i]);
		has(freed ? "growth, freed" : "growth alone",
		    freed ? SYMPTOMS : SYMPTOM_GROWTH);
	}

	begin(false); /* 64 bytes on each of 4,000 pages */
	for (unsigned i = 0; i < 4000; i++)
		make(1000 + i, MAKER, 64, PAGE);
	has("utilization", SYMPTOM_UTILIZATION);
	begin(false);
	for (unsigned i = 0; i < 4000; i++)
		make(1000 + i, MAKER, 2500, PAGE);
	has("less empty", SYMPTOMS);

	/* 32 MiB more than usual, for a moment; or less than half of the usual */
	for (int large = 1; large >= 0; large--) {
		begin(true);
		for (unsigned i = 0; i < 512; i++)
			blocks[i] = make(step_time(30) + i, MAKER, large ? 65536 : 7000, 65536);
		for (unsigned i = 0; i < 512; i++)
			end(step_time(30) + 1000 + i, blocks[i]);
		has(large ? "spikes" : "less of a spike", large ? SYMPTOM_SPIKES : SYMPTOMS);
	}
	unlink(path);
	return failures != 0;
}
