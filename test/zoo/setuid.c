/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a set-user-id copy of itself as another user: the loader and the library must ignore the
 * environment there. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "zoo/zoo.h"

/* In the copy: is the library there? */
static int look(void)
{
	char line[4096];
	FILE *maps = fopen("/proc/self/maps", "r");
	int found = 0;

	while (maps && fgets(line, sizeof(line), maps))
		found |= strstr(line, "libshiny") != NULL;
	printf("secure=%lu library=%s\n", getauxval(AT_SECURE),
	       !maps   ? "unknown"
	       : found ? "yes"
		       : "no");
	return getauxval(AT_SECURE) ? 0 : 77;
}

static int copy_self(const char *path)
{
	struct stat st;
	int from = open("/proc/self/exe", O_RDONLY),
	    to = open(path, O_WRONLY | O_CREAT | O_EXCL, 0700), status = -1;

	if (from >= 0 && to >= 0 && fstat(from, &st) == 0 &&
	    sendfile(to, from, NULL, (size_t)st.st_size) == st.st_size)
		status = fchmod(to, 04755);
	close(from);
	close(to);
	return status;
}

int main(int argc, char **argv)
{
	char path[64];
	int status;

	if (argc > 1)
		return look();
	if (geteuid() != 0) {
		printf("only root can make a set-user-id root copy\n");
		return 77;
	}
	snprintf(path, sizeof(path), "/tmp/zoo-setuid.%d", (int)getpid());
	if (copy_self(path)) {
		printf("cannot make a copy: %s\n", strerror(errno));
		unlink(path);
		return 77;
	}
	pid_t pid = fork();
	if (pid == 0) {
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(77);
		execl(path, path, "inner", (char *)NULL);
		_exit(77);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return 1;
	unlink(path);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
	zoo_free(shiny_zoo_alloc(64));
	truth(NULL);
	return 0;
}
