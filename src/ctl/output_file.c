/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

struct shiny_err *output_file_open(const char *path, bool force, struct output_file *file)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	bool made = fd >= 0;

	if (fd < 0 && errno == EEXIST && !force)
		return shiny_err_advise(shiny_err(SHINY_ERR_OTHER, "%s exists", path),
					"--force overwrites it");
	if (fd < 0 && errno == EEXIST)
		fd = open(path, O_WRONLY | O_TRUNC | O_CLOEXEC);
	if (fd < 0)
		return shiny_err_os(errno, "cannot write %s", path);
	*file = (struct output_file){ .out = fdopen(fd, "w"), .path = path, .made = made };
	if (!file->out) {
		close(fd);
		return shiny_err_os(errno, "cannot write %s", path);
	}
	return NULL;
}

struct shiny_err *output_file_close(struct output_file *file, struct shiny_err *err)
{
	bool failed = ferror(file->out) != 0;

	if (fclose(file->out) != 0)
		failed = true;
	if (failed && !err)
		err = shiny_err_os(errno, "cannot write %s", file->path);
	if (err && file->made)
		unlink(file->path);
	return err;
}
