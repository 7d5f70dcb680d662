/* SPDX-License-Identifier: Apache-2.0 */
/* blank.c: see blank.h. */
#include "blank.h"

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

#include "patient.h"

enum { FIRST_PAGE = 4096 };

extern const char blank_file[], blank_file_end[];
__asm__(".pushsection .rodata\n"
	".global blank_file, blank_file_end\n"
	"blank_file: .incbin \"" SHINY_BLANK_FILE "\"\n"
	"blank_file_end: .byte 0\n"
	".popsection");

/* Writes a part of the file; false: errno says why not. */
static bool write_part(int fd, size_t from, size_t to)
{
	while (from < to) {
		ssize_t done = patient_pwrite(fd, blank_file + from, to - from, (off_t)from);

		if (done < 0)
			return false;
		from += (size_t)done;
	}
	return true;
}

struct shiny_err *blank_write(const char *path, int fd)
{
	size_t bytes = (size_t)(blank_file_end - blank_file);

	if (write_part(fd, FIRST_PAGE, bytes) && write_part(fd, 0, FIRST_PAGE))
		return NULL;
	if (errno == ENOSPC)
		return shiny_err_advise(
			shiny_err(SHINY_ERR_OTHER,
				  "cannot make the session %s: no space left on its file system",
				  path),
			"free some space, or name a file elsewhere with --out or SHINY_OUT");
	return shiny_err_os(errno, "cannot make the session %s", path);
}

int blank_open(sqlite3 **db)
{
	sqlite3_int64 bytes = blank_file_end - blank_file;
	int code = sqlite3_open_v2(":memory:", db,
				   SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY | SQLITE_OPEN_NOMUTEX,
				   NULL);

	return code != SQLITE_OK ? code
				 : sqlite3_deserialize(*db, "main", (unsigned char *)blank_file,
						       bytes, bytes, SQLITE_DESERIALIZE_READONLY);
}
