/* SPDX-License-Identifier: Apache-2.0 */
/* session_file.c: see session_file.h. */
#include "session_file.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../base/cleanup.h"
#include "../base/text.h"
#include "output/resolve_ahead.h"

static const char *pattern_of(const struct sidecar_options *options)
{
	static const struct {
#define SHINY_ENV(name, field, type, text, allowed) const char *field;
#include <shiny/wire/variables.def>
#undef SHINY_ENV
	} standard = {
#define SHINY_ENV(name, field, type, text, allowed) .field = text,
#include <shiny/wire/variables.def>
#undef SHINY_ENV
	};

	return options->out ? options->out : standard.out;
}

/* Returns the length of a text cut to at most `bytes`, without cutting a UTF-8 character. */
static int cut(const char *text, size_t bytes)
{
	size_t whole = bytes;

	if (strlen(text) <= bytes)
		return (int)strlen(text);
	while (whole && bytes - whole < 4 && ((unsigned char)text[whole] & 0xc0) == 0x80)
		whole--;
	return (int)(bytes - whole < 4 ? whole : bytes); /* else it is not UTF-8 */
}

/* Expands the pattern into a new text. `most`: maximal bytes of %e. */
static char *expand(const char *pattern, const struct ring_file *ring, uint32_t pid, size_t most)
{
	char *text = mem_text(""), *more, part[256];
	const char *name = text_base(ring->executable);

	for (const char *at = pattern; *at; at++) {
		part[0] = *at;
		part[1] = '\0';
		if (*at == '%' && at[1]) {
			time_t seconds = (time_t)(ring->start_realtime / 1000000000);
			struct tm local;

			switch (*++at) {
			case 'e':
				snprintf(part, sizeof(part), "%.*s", cut(name, most), name);
				break;
			case 'p':
				snprintf(part, sizeof(part), "%" PRIu32, pid);
				break;
			case 't':
				localtime_r(&seconds, &local);
				strftime(part, sizeof(part), "%Y%m%d-%H%M%S", &local);
				break;
			case 'h':
				if (gethostname(part, sizeof(part)))
					snprintf(part, sizeof(part), "host");
				part[sizeof(part) - 1] = '\0';
				break;
			case '%':
				break;
			default:
				snprintf(part, sizeof(part), "%%%c", *at);
			}
		}
		more = mem_format("%s%s", text, part);
		free(text);
		text = more;
	}
	return text;
}

/* Returns by how many bytes a name in the path is too long; 0: none is. */
static size_t excess_of(const char *path)
{
	/* suffixes of the file's name: a number, and SQLite's */
	static const char behind[] = ".4294967295-journal";
	const char *slash = strrchr(path, '/');
	char *directory = slash ? mem_format("%.*s/", (int)(slash - path), path) : mem_text(".");
	long system = pathconf(directory, _PC_NAME_MAX);
	size_t most = system > 0 ? (size_t)system : NAME_MAX, excess = 0, length;

	free(directory);
	for (;; path += length + 1) {
		length = strcspn(path, "/");
		if (!path[length])
			length += sizeof(behind) - 1;
		if (length > most + excess)
			excess = length - most;
		if (!strchr(path, '/'))
			return excess;
	}
}

/* Returns the path of the session file. The name of a program may be as long as a file's name may
 * be, so %e is cut if a name would be too long. */
static char *make_path(const char *pattern, const struct ring_file *ring, uint32_t pid)
{
	size_t most = NAME_MAX, excess;
	char *path;

	while ((path = expand(pattern, ring, pid, most), excess = excess_of(path)) && most) {
		free(path);
		excess = (excess + 1) / 2; /* the pattern may have %e twice */
		most -= excess < most ? excess : most;
	}
	return path;
}

static struct shiny_err *exists_error(const char *path)
{
	return shiny_err_advise(shiny_err(SHINY_ERR_OTHER,
					  "%s: exists already, nothing was written", path),
				"give another name with --out, or --force to overwrite it");
}

struct shiny_err *session_file_check(const struct sidecar_options *options)
{
	const char *pattern = pattern_of(options);

	if (options->force || options->numbered || strchr(pattern, '%') || access(pattern, F_OK))
		return NULL;
	return exists_error(pattern);
}

struct shiny_err *session_file_create(struct session *session, const struct ring_file *ring,
				      uint32_t pid)
{
	const char *pattern = pattern_of(session->options);
	char *path = make_path(pattern, ring, pid), *base = mem_text(path);
	size_t length = strlen(base);
	bool suffix = length > 6 && !strcmp(base + length - 6, ".shiny");
	struct shiny_err *err;

	if (suffix)
		base[length - 6] = '\0';
	for (unsigned n = 2;
	     !session->options->force && (session->options->numbered || strchr(pattern, '%')) &&
	     access(path, F_OK) == 0;
	     n++) {
		free(path);
		path = mem_format("%s.%u%s", base, n, suffix ? ".shiny" : "");
	}
	free(base);
	session->output.path = path;
	err = store_create(path, session->options->force, session->options->with_events,
			   &session->output.store);
	if (err) {
		AUTO_FREE char *rings = text_shell(session->options->directory);
		AUTO_FREE char *to = text_shell(path);

		session->output.store = NULL;
		return shiny_err_advise(err,
					"%s%snothing was read yet: shinyctl collect %s --out %s",
					err->advice ? err->advice : "", err->advice ? "; " : "",
					rings, to);
	}
	if (!session->options->leftover && !session->options->no_site_types)
		session->ahead = resolve_ahead_start(&session->symbols);
	return err;
}
