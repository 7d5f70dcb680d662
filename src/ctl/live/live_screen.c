/* SPDX-License-Identifier: Apache-2.0 */
/*
 * live_screen.c: see live_screen.h.
 *
 * Nothing depends on colour: bold, dim and reverse are enough. Names come from the session through
 * query_text, so they have no control characters.
 */
#define _GNU_SOURCE
#define NCURSES_WIDECHAR 1
#include "live_screen.h"

#include <inttypes.h>
#include <langinfo.h>
#include <locale.h>
#include <ncurses.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../base/text.h"
#include "../../base/units.h"
#include "../output_guard.h"

enum {
	GRAPH_TOP = 2,
	GRAPH_LINES = 4,
	GRAPH_LEFT = 11,
	NAME_LEFT = 45,
	LEAST_FOR_GRAPH = 18, /* lines of a terminal */
	KEY_ESCAPE = 27,
};

static volatile sig_atomic_t ended;
static SCREEN *screen_of_curses;
static FILE *terminal;

static void on_end(int signal)
{
	(void)signal;
	ended = 1;
}

struct shiny_err *live_screen_open(void)
{
	static const int ending[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = on_end };
	int fd = dup(output_guard_fd(stdout));
	const char *name = getenv("TERM");

	setlocale(LC_CTYPE, "");
	if (strcmp(nl_langinfo(CODESET), "UTF-8") != 0)
		setlocale(LC_CTYPE, "C.UTF-8");
	terminal = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (terminal)
		screen_of_curses = newterm(NULL, terminal, stdin);
	if (!screen_of_curses) {
		if (terminal)
			fclose(terminal);
		else if (fd >= 0)
			close(fd);
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER, "live cannot use this terminal (TERM=%s)",
				  name ? name : ""),
			"`shinyctl live --once` needs none");
	}
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		sigaction(ending[i], &action, NULL);
	set_escdelay(25);
	cbreak();
	noecho();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	return NULL;
}

void live_screen_close(void)
{
	endwin();
	delscreen(screen_of_curses);
	fclose(terminal);
}

bool live_screen_ended(void)
{
	return ended;
}

/* ---- rows ---- */

struct shown {
	const struct live_row *row;
	int64_t growth;
	double rate;
};
struct shown_rows {
	struct shown *at;
	size_t count, room;
};

static enum live_sort comparing; /* qsort has no context */

static int by_sort(const void *a, const void *b)
{
	const struct shown *x = a, *y = b;
	double left = 0, right = 0;

	switch (comparing) {
	case LIVE_BY_BLOCKS: left = (double)x->row->live, right = (double)y->row->live; break;
	case LIVE_BY_GROWTH: left = (double)x->growth, right = (double)y->growth; break;
	case LIVE_BY_RATE: left = x->rate, right = y->rate; break;
	default: break;
	}
	if (left == right)
		left = (double)x->row->live_bytes, right = (double)y->row->live_bytes;
	return left != right ? (left < right) - (left > right) : strcmp(x->row->name, y->row->name);
}

static double seconds_between(const struct live_screen *screen)
{
	return screen->last ? (double)(screen->now->clock - screen->last->clock) / 1e9 : 0;
}

static void choose_rows(const struct live_screen *screen, struct shown_rows *out)
{
	const struct live_rows *rows = &screen->now->views[screen->view];
	double seconds = seconds_between(screen);

	for (size_t i = 0; i < rows->count; i++) {
		const struct live_row *row = &rows->at[i], *old, *base;

		if (*screen->filter && !text_matches(screen->filter, row->name))
			continue;
		old = screen->last ? live_row_find(&screen->last->views[screen->view], row->name)
				   : NULL;
		base = live_row_find(&screen->base->views[screen->view], row->name);
		*vec_push(out) = (struct shown){
			.row = row,
			.growth = (int64_t)row->live_bytes - (base ? (int64_t)base->live_bytes : 0),
			.rate = seconds > 0 ? (double)(row->allocs - (old ? old->allocs : 0)) /
						      seconds
					    : 0,
		};
	}
	comparing = screen->sort;
	if (out->count)
		qsort(out->at, out->count, sizeof(*out->at), by_sort);
}

static void growth_text(int64_t growth, char out[UNITS_TEXT + 1])
{
	char text[UNITS_TEXT];

	units_bytes(text, (uint64_t)(growth < 0 ? -growth : growth));
	snprintf(out, UNITS_TEXT + 1, "%s%s", growth > 0 ? "+" : growth < 0 ? "-" : "", text);
}

/* Prints `text` at a place, cut to the rest of the line. */
static void put(int line, int column, const char *text)
{
	int columns = COLS - column;

	if (line < 0 || line >= LINES || columns <= 0)
		return;
	AUTO_FREE char *fitted = mem_alloc(4 * (size_t)columns + 8);

	text_fit(fitted, 4 * (size_t)columns + 8, text, (size_t)columns, TEXT_CUT_MIDDLE);
	mvaddstr(line, column, fitted);
}

static void draw_rows(struct live_screen *screen, int line)
{
	struct shown_rows rows = { 0 };
	size_t room = LINES - 1 > line ? (size_t)(LINES - 1 - line) : 0;

	choose_rows(screen, &rows);
	if (screen->top + room > rows.count)
		screen->top = rows.count > room ? rows.count - room : 0;
	for (size_t i = screen->top; i < rows.count && i - screen->top < room; i++) {
		const struct shown *shown = &rows.at[i];
		char growth[UNITS_TEXT + 1], numbers[5 * UNITS_TEXT];

		growth_text(shown->growth, growth);
		snprintf(numbers, sizeof(numbers), "%10s %10s %11s %9s  ",
			 units_bytes(UNITS_BUF, shown->row->live_bytes),
			 units_count(UNITS_BUF, shown->row->live), growth,
			 units_short(UNITS_BUF, shown->rate));
		put(line + (int)(i - screen->top), 0, numbers);
		put(line + (int)(i - screen->top), NAME_LEFT, shown->row->name);
	}
	if (!rows.count)
		put(line, 0, *screen->filter ? "no row has this text (/ changes it)" : "none yet");
	free(rows.at);
}

/* ---- above the rows ---- */

/* Draws a bar in each column, in eighths of a line. */
static void draw_graph(const struct totals *totals, int top)
{
	static const char *const eighths[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	int columns = COLS - GRAPH_LEFT - 1;
	uint64_t most = 1;

	for (size_t i = 0; i < TOTALS_TIMES; i++)
		most = totals->times[i] > most ? totals->times[i] : most;
	mvprintw(top, 0, "%10s", units_bytes(UNITS_BUF, most));
	mvprintw(top + GRAPH_LINES - 1, 0, "%10s", "0");
	for (int c = 0; c < columns; c++) {
		uint64_t value = totals->times[c * TOTALS_TIMES / columns];
		unsigned height = (unsigned)((double)value / (double)most * 8 * GRAPH_LINES + 0.5);

		for (unsigned line = 0; line < GRAPH_LINES; line++) {
			unsigned below = 8 * (GRAPH_LINES - 1 - line);
			unsigned part = height > below ? height - below : 0;

			mvaddstr(top + (int)line, GRAPH_LEFT + c,
				 eighths[part > 8 ? 8 : part]);
		}
	}
}

/* Returns how many lines about resident memory there is room for. */
static size_t resident_lines(const struct live_screen *screen)
{
	return screen->now && LINES >= LEAST_FOR_GRAPH + RESIDENT_MOST ? screen->now->resident.count
								       : 0;
}

static void draw_head(const struct live_screen *screen)
{
	const struct totals *totals = &screen->now->totals;
	AUTO_FREE char *head = live_sample_head(screen->now);
	char rate[UNITS_TEXT] = "", text[512];
	double seconds = seconds_between(screen);

	if (seconds > 0)
		units_short(rate, (double)(totals->sums.allocs - screen->last->totals.sums.allocs) /
					  seconds);
	snprintf(text, sizeof(text), "%s  %s  %s%s", screen->name,
		 units_time(UNITS_BUF, totals->duration),
		 units_noun(UNITS_NOUN_BUF, totals->processes, "process"),
		 screen->now->ended ? "  (the recording has ended)"
		 : screen->paused   ? "  (paused)"
				    : "");
	attron(A_BOLD);
	put(0, 0, text);
	attroff(A_BOLD);
	snprintf(text, sizeof(text), "%s%s%s%s", head, *rate ? "   " : "", rate,
		 *rate ? " allocations a second" : "");
	put(1, 0, text);
	for (size_t i = 0; i < resident_lines(screen); i++) {
		AUTO_FREE char *line =
			resident_text(&screen->now->resident, i, totals->processes > 1);

		put(GRAPH_TOP + (int)i, 0, line);
	}
}

static void draw_titles(const struct live_screen *screen, int line)
{
	static const char *const titles[LIVE_SORTS] = { "live bytes", "blocks", "growth", "rate" };
	static const int ends[LIVE_SORTS] = { 10, 21, 33, 43 };

	attron(A_DIM);
	for (size_t i = 0; i < LIVE_SORTS; i++) {
		if (screen->sort == (enum live_sort)i)
			attron(A_REVERSE);
		put(line, ends[i] - (int)strlen(titles[i]), titles[i]);
		attroff(A_REVERSE);
	}
	attroff(A_DIM);
	move(line, NAME_LEFT);
	for (size_t v = 0; v < LIVE_VIEWS; v++) {
		int column = getcurx(stdscr);

		if (screen->view == (enum live_view)v)
			attron(A_REVERSE);
		put(line, column, live_view_names[v]);
		attroff(A_REVERSE);
		move(line, column + (int)strlen(live_view_names[v]) + 1);
	}
}

void live_screen_draw(struct live_screen *screen)
{
	bool graph = LINES >= LEAST_FOR_GRAPH && COLS > 2 * GRAPH_LEFT;
	int top = GRAPH_TOP + (int)resident_lines(screen);
	int line = graph ? top + GRAPH_LINES + 1 : top;
	char text[sizeof(screen->filter) + 32];

	erase();
	if (screen->now) {
		draw_head(screen);
		if (graph)
			draw_graph(&screen->now->totals, top);
		draw_titles(screen, line);
		draw_rows(screen, line + 1);
	} else {
		put(0, 0, screen->name);
		put(1, 0, "reading the session ...");
	}
	attron(A_DIM);
	snprintf(text, sizeof(text), "/%s%s", screen->filter, screen->typing ? "_" : "");
	put(LINES - 1, 0,
	    screen->typing     ? text
	    : *screen->message ? screen->message
			       : "t s p view  b n g r sort  / filter  space pause  m mark  q quit");
	attroff(A_DIM);
	refresh();
}

/* ---- keys ---- */

static void type_key(struct live_screen *screen, int key)
{
	size_t length = strlen(screen->filter);

	if (key == '\n' || key == '\r' || key == KEY_ENTER) {
		screen->typing = false;
	} else if (key == KEY_ESCAPE) {
		screen->typing = false;
		*screen->filter = '\0';
	} else if (key == KEY_BACKSPACE || key == 127 || key == '\b') {
		screen->filter[length ? length - 1 : 0] = '\0';
	} else if (key >= ' ' && key < 127 && length + 1 < sizeof(screen->filter)) {
		screen->filter[length] = (char)key;
		screen->filter[length + 1] = '\0';
	}
	screen->top = 0;
}

static void scroll_key(struct live_screen *screen, int key)
{
	size_t page = LINES > 10 ? (size_t)LINES - 9 : 1, step = key == KEY_UP ? 1 : page;

	switch (key) {
	case KEY_UP:
	case KEY_PPAGE: screen->top = screen->top > step ? screen->top - step : 0; break;
	case KEY_DOWN: screen->top++; break;
	case KEY_NPAGE: screen->top += page; break;
	default: screen->top = 0; break;
	}
}

static enum live_wish one_key(struct live_screen *screen, int key)
{
	static const char views[] = "tsp", sorts[] = "bngr";
	const char *at;

	*screen->message = '\0';
	if (key == KEY_RESIZE)
		return LIVE_NOTHING;
	if (screen->typing) {
		type_key(screen, key);
	} else if (key == 'q' || key == KEY_ESCAPE) {
		return LIVE_QUIT;
	} else if (key == 'm') {
		return LIVE_MARK;
	} else if (key == ' ') {
		screen->paused = !screen->paused;
	} else if (key == '/') {
		screen->typing = true;
	} else if (key == '\t') {
		screen->view = (screen->view + 1) % LIVE_VIEWS;
		screen->top = 0;
	} else if (key > 0 && key < 127 && (at = strchr(views, key))) {
		screen->view = (enum live_view)(at - views);
		screen->top = 0;
	} else if (key > 0 && key < 127 && (at = strchr(sorts, key))) {
		screen->sort = (enum live_sort)(at - sorts);
		screen->top = 0;
	} else {
		scroll_key(screen, key);
	}
	return LIVE_NOTHING;
}

enum live_wish live_screen_keys(struct live_screen *screen)
{
	enum live_wish wish = LIVE_NOTHING;
	int key;

	while (wish == LIVE_NOTHING && (key = getch()) != ERR)
		wish = one_key(screen, key);
	return wish;
}
