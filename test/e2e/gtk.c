/* SPDX-License-Identifier: Apache-2.0 */
/*
 * gtk.c: a window with some hundred widgets, half of which are destroyed. Prints "widget TYPE
 * NUMBER" for each type in GTK's own trees of widgets, internal children included, and ends at
 * once. GTK's headers are not needed: the declarations that it uses are here.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct g_list { void *data; struct g_list *next, *previous; };

int gtk_init_check(int *, char ***), gtk_events_pending(void), gtk_main_iteration(void);
void *gtk_window_new(int), *gtk_box_new(int, int), *gtk_button_new_with_label(const char *);
void *gtk_entry_new(void), *gtk_spin_button_new_with_range(double, double, double);
void *gtk_label_new(const char *), *gtk_combo_box_text_new(void), *gtk_text_view_new(void);
void gtk_combo_box_text_append_text(void *, const char *);
void gtk_container_add(void *, void *), gtk_widget_show_all(void *), gtk_widget_destroy(void *);
void gtk_container_forall(void *, void (*)(void *, void *), void *);
struct g_list *gtk_window_list_toplevels(void);
size_t gtk_container_get_type(void);
int g_type_check_instance_is_a(void *, size_t);
const char *g_type_name_from_instance(void *);

enum { TYPES = 100, ROWS = 60 };
static struct { const char *name; unsigned count; } types[TYPES];

static void count(void *widget, void *data)
{
	const char *name = g_type_name_from_instance(widget);
	unsigned i = 0;

	while (i < TYPES - 1 && types[i].name && strcmp(types[i].name, name))
		i++;
	types[i].name = name;
	types[i].count++;
	if (g_type_check_instance_is_a(widget, gtk_container_get_type()))
		gtk_container_forall(widget, count, data);
}

int main(int argc, char **argv)
{
	void *window, *box, *made[ROWS][5];

	if (!gtk_init_check(&argc, &argv))
		return 77;
	window = gtk_window_new(0);
	box = gtk_box_new(1, 0);
	gtk_container_add(window, box);
	for (unsigned i = 0; i < ROWS; i++) {
		made[i][0] = gtk_button_new_with_label("button");
		made[i][1] = gtk_entry_new();
		made[i][2] = gtk_label_new("label");
		made[i][3] = gtk_combo_box_text_new();
		gtk_combo_box_text_append_text(made[i][3], "choice");
		made[i][4] = i % 2 ? gtk_spin_button_new_with_range(0, 9, 1) : gtk_text_view_new();
		for (unsigned k = 0; k < 5; k++)
			gtk_container_add(box, made[i][k]);
	}
	gtk_widget_show_all(window);
	while (gtk_events_pending())
		gtk_main_iteration();
	for (unsigned i = 0; i < ROWS; i++)
		for (unsigned k = i % 2; k < 5; k += 2)
			gtk_widget_destroy(made[i][k]);
	while (gtk_events_pending())
		gtk_main_iteration();
	for (struct g_list *at = gtk_window_list_toplevels(); at; at = at->next)
		count(at->data, NULL);
	for (unsigned i = 0; i < TYPES && types[i].name; i++)
		printf("widget %s %u\n", types[i].name, types[i].count);
	fflush(stdout);
	_exit(0);
}
