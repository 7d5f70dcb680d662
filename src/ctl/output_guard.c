/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "output_guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../base/mem.h"
#include "../base/terminal.h"
#include "../base/text.h"

enum { PENDING = 40 }; /* more than a character or a sequence of ours takes */

struct guarded {
	int fd;
	bool binary; /* not text: nothing is replaced */
	char pending[PENDING]; /* the beginning of a possible character or sequence */
	size_t pending_bytes;
};

static struct guarded streams[] = { { .fd = STDOUT_FILENO }, { .fd = STDERR_FILENO } };

/* Returns the bytes of a sequence of ours (terminal.h): ESC KEY [ NUMBERS LETTER. 0: none; more
 * than `bytes`: incomplete. */
static size_t own_sequence(const char *s, size_t bytes)
{
	const char *key = terminal_key();
	size_t length = strlen(key), n = 2 + length;

	if (strncmp(s + 1, key, bytes - 1 < length ? bytes - 1 : length) != 0 ||
	    (bytes > 1 + length && s[1 + length] != '['))
		return 0;
	while (n < bytes && n < length + 8 && ((s[n] >= '0' && s[n] <= '9') || s[n] == ';'))
		n++;
	if (n >= bytes)
		return n + 1;
	return memchr("mKG", s[n], 3) ? n + 1 : 0;
}

/* Returns the bytes of a UTF-8 sequence that begins with `lead`. */
static size_t sequence_bytes(unsigned char lead)
{
	return lead >= 0xf0 && lead < 0xf8 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1;
}

/* Converts one character or sequence of `s` for output; returns its bytes in `s`, 0: incomplete. */
static size_t let_out(const struct guarded *stream, const char *s, size_t bytes, char *out,
		      size_t *out_bytes)
{
	char one[5] = { 0 };
	size_t length;
	uint32_t point;

	*out_bytes = 1;
	*out = *s;
	if (((unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f) || *s == '\n' || *s == '\t' ||
	    (*s == '\r' && stream->fd != STDERR_FILENO && bytes > 1 && s[1] == '\n'))
		return 1;
	if (*s == '\r' && stream->fd != STDERR_FILENO && bytes == 1)
		return 0; /* possibly the end of a line of CSV */
	if (*s == '\033') {
		length = own_sequence(s, bytes);
		if (length > bytes)
			return 0;
		if (length) {
			size_t key = strlen(terminal_key());

			*out_bytes = length - key;
			memcpy(out + 1, s + 1 + key, *out_bytes - 1);
			return length;
		}
	}
	length = sequence_bytes((unsigned char)*s);
	if (length > bytes)
		return 0;
	memcpy(one, s, length);
	length = *one ? text_decode(one, &point) : (point = 0, 1);
	*out_bytes = text_encode(out, text_stand_in(point) ? text_stand_in(point) : point);
	return length;
}

static ssize_t write_all(int fd, const char *data, size_t bytes)
{
	for (size_t done = 0; done < bytes;) {
		ssize_t n = write(fd, data + done, bytes - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	return (ssize_t)bytes;
}

static ssize_t guard_write(void *cookie, const char *data, size_t bytes)
{
	struct guarded *stream = cookie;
	size_t all = stream->pending_bytes + bytes, at = 0, used = 0, length, put;
	char *text = mem_alloc(all), *out = mem_alloc(3 * all + 8);
	ssize_t written;

	if (stream->binary) {
		free(text);
		free(out);
		return write_all(stream->fd, data, bytes) < 0 ? 0 : (ssize_t)bytes;
	}
	memcpy(text, stream->pending, stream->pending_bytes);
	memcpy(text + stream->pending_bytes, data, bytes);
	for (; at < all && (length = let_out(stream, text + at, all - at, out + used, &put));
	     at += length)
		used += put;
	stream->pending_bytes = all - at;
	memcpy(stream->pending, text + at, all - at);
	written = write_all(stream->fd, out, used);
	free(text);
	free(out);
	return written < 0 ? 0 : (ssize_t)bytes;
}

static int guard_close(void *cookie)
{
	const struct guarded *stream = cookie;

	return close(stream->fd);
}

void output_guard_open(void)
{
	static const cookie_io_functions_t functions = { .write = guard_write,
							 .close = guard_close };
	FILE *out = fopencookie(&streams[0], "w", functions),
	     *err = fopencookie(&streams[1], "w", functions);

	terminal_guarded();
	if (out) {
		setvbuf(out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
		stdout = out;
	}
	if (err) {
		setvbuf(err, NULL, _IOLBF, BUFSIZ);
		stderr = err;
	}
}

bool output_guard_hold(bool binary)
{
	const char *place = getenv("TMPDIR");
	int fd = streams[0].fd;

	if (fd == STDOUT_FILENO)
		fd = open(place && *place == '/' ? place : "/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC,
			  0600);
	if (fd < 0)
		fd = memfd_create("held output", MFD_CLOEXEC);
	if (fd < 0)
		return false;
	streams[0].fd = fd;
	streams[0].binary = binary;
	return true;
}

bool output_guard_release(bool whole)
{
	int held = streams[0].fd;
	char data[BUFSIZ];
	ssize_t bytes = 0;
	bool good;

	if (held == STDOUT_FILENO)
		return true;
	good = fflush(stdout) == 0 && !ferror(stdout) && lseek(held, 0, SEEK_SET) == 0;
	while (whole && good && (bytes = read(held, data, sizeof(data))) > 0)
		good = write_all(STDOUT_FILENO, data, (size_t)bytes) >= 0;
	good = good && bytes == 0;
	streams[0].fd = STDOUT_FILENO;
	streams[0].binary = false;
	streams[0].pending_bytes = 0;
	close(held);
	return good || !whole;
}

int output_guard_fd(FILE *out)
{
	return out == stdout ? STDOUT_FILENO : out == stderr ? STDERR_FILENO : fileno(out);
}
