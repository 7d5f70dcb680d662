/* SPDX-License-Identifier: Apache-2.0 */
/* test_sessions.c: what a look at a session directory says of the rings in it. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include <shiny/wire/wire.h>

#include "../../src/ctl/run/sessions.h"
#include "check.h"

int main(void)
{
	struct shiny_header header = { .magic = SHINY_MAGIC,
				       .version = SHINY_VERSION,
				       .layout = shiny_layout() };
	char directory[] = "/tmp/test_sessions.XXXXXX", path[64];
	struct session_directory look;
	int fd;

	if (!mkdtemp(directory))
		return 1;
	snprintf(path, sizeof(path), "%s/" SHINY_RING_PREFIX "1.0", directory);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return 1;
	checkf("an empty file is a ring being made",
	       sessions_look(directory, &look) && look.rings == 1 && look.used == 1,
	       "%u rings are used", look.used);
	if (write(fd, &header, sizeof(header)) != sizeof(header))
		return 1;
	checkf("a header that is not ready too", sessions_look(directory, &look) && look.used == 1,
	       "%u rings are used", look.used);
	header.ready = 1;
	if (pwrite(fd, &header, sizeof(header), 0) != sizeof(header))
		return 1;
	checkf("one that is ready and that nobody holds is left behind",
	       sessions_look(directory, &look) && look.used == 0, "%u rings are used", look.used);
	if (flock(fd, LOCK_SH))
		return 1;
	checkf("and used when somebody does", sessions_look(directory, &look) && look.used == 1,
	       "%u rings are used", look.used);
	close(fd);
	unlink(path);
	checkf("an empty directory",
	       sessions_look(directory, &look) && look.rings == 0 && look.used == 0,
	       "%u rings are used", look.used);
	rmdir(directory);
	return failures != 0;
}
