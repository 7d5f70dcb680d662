/* SPDX-License-Identifier: Apache-2.0 */
#include "push_receiver.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/mem.h"
#include "../../view/gzip.h"
#include "../../view/proto.h"

const struct push_protocol push_protocols[PUSH_RECEIVERS] = {
#define PUSH_RECEIVER(ID, path, type, encoding, since, http) \
	{ path, type, encoding, PUSH_SINCE_##since, http },
#include "receiver.def"
};

enum push_receiver push_receiver_of(const char *path)
{
	size_t length = strlen(path), i = 0;

	for (;; i++) {
		size_t end = strlen(push_protocols[i].path);

		if (end <= length && strcmp(path + length - end, push_protocols[i].path) == 0)
			return i;
	}
}

/* ---- a form ---- */

/* Pyroscope takes alloc_* for sums since the start if it is not told. */
#define SAMPLE_TYPE(name, units, aggregation)                                                   \
	"\"" name "\":{\"units\":\"" units "\",\"display-name\":\"" name "\",\"aggregation\":\"" \
	aggregation "\",\"cumulative\":false,\"sampled\":false}"
#define PART(name, file)                                                              \
	"\r\n--" PUSH_BOUNDARY "\r\nContent-Disposition: form-data; name=\"" name      \
	"\"; filename=\"" file "\"\r\nContent-Type: application/octet-stream\r\n\r\n"
static const char form_head[] = PART("profile", "profile.pprof");
static const char form_end[] = PART("sample_type_config", "sample_type_config.json") "{"
	SAMPLE_TYPE("alloc_objects", "objects", "sum") ","
	SAMPLE_TYPE("alloc_space", "bytes", "sum") ","
	SAMPLE_TYPE("inuse_objects", "objects", "average") ","
	SAMPLE_TYPE("inuse_space", "bytes", "average") "}\r\n--" PUSH_BOUNDARY "--\r\n";

static void put_form(FILE *out, const char *packed, size_t bytes)
{
	fwrite(form_head, 1, sizeof(form_head) - 1, out);
	fwrite(packed, 1, bytes, out);
	fwrite(form_end, 1, sizeof(form_end) - 1, out);
}

/* ---- messages ---- */

enum { LABEL_NAME = 1, LABEL_VALUE, SAMPLE_PROFILE = 1, SERIES_LABELS = 1, SERIES_SAMPLE };
enum { PUSH_SERIES = 1, WRITE_SERIES, WRITE_NORMALIZED, SET_LABEL = 1 };

static void add_label(struct proto *to, const char *name, const char *value)
{
	struct proto label = { 0 };

	proto_text(&label, LABEL_NAME, name);
	proto_text(&label, LABEL_VALUE, value);
	proto_message(to, SET_LABEL, &label);
	free(label.at);
}

/* Adds a series, whose labels are in `labels` as fields of it. */
static void add_series(struct proto *to, unsigned field, const struct proto *labels,
		       const char *packed, size_t bytes)
{
	struct proto series = { 0 }, sample = { 0 };

	for (size_t i = 0; i < labels->count; i++)
		*vec_push(&series) = labels->at[i];
	proto_bytes(&sample, SAMPLE_PROFILE, packed, bytes);
	proto_message(&series, SERIES_SAMPLE, &sample);
	proto_message(to, field, &series);
	free(series.at);
	free(sample.at);
}

/* A PushRequest. __delta__ says that the receiver has no differences to make. */
static void put_push(FILE *out, const char *service, const char *packed, size_t bytes)
{
	struct proto request = { 0 }, labels = { 0 };

	add_label(&labels, "__name__", "memory");
	add_label(&labels, "__delta__", "false");
	add_label(&labels, "service_name", service);
	add_series(&request, PUSH_SERIES, &labels, packed, bytes);
	proto_flush(&request, out);
	free(request.at);
	free(labels.at);
}

/* A WriteRawRequest, as gRPC frames it: not packed, and its length. */
static void put_write(FILE *out, const char *service, const char *packed, size_t bytes)
{
	struct proto request = { 0 }, set = { 0 }, labels = { 0 };

	add_label(&set, "__name__", "memory");
	add_label(&set, "job", service);
	proto_message(&labels, SERIES_LABELS, &set);
	add_series(&request, WRITE_SERIES, &labels, packed, bytes);
	proto_number(&request, WRITE_NORMALIZED, 1);
	putc(0, out);
	for (int shift = 24; shift >= 0; shift -= 8)
		putc((int)(request.count >> shift & 0xff), out);
	proto_flush(&request, out);
	free(request.at);
	free(set.at);
	free(labels.at);
}

struct shiny_err *push_receiver_body(enum push_receiver receiver, const char *service,
				     const char *text, size_t bytes, char **body,
				     size_t *body_bytes)
{
	size_t packed_bytes = 0;
	char *packed = gzip_whole(text, bytes, &packed_bytes);
	FILE *out;

	if (!packed)
		return shiny_err(SHINY_ERR_OTHER, "cannot pack the profile");
	if (receiver == PUSH_OTLP || receiver == PUSH_PPROF) {
		*body = packed;
		*body_bytes = packed_bytes;
		return NULL;
	}
	out = mem_stream_open(body, body_bytes);
	if (receiver == PUSH_PYROSCOPE)
		put_form(out, packed, packed_bytes);
	else if (receiver == PUSH_PUSHER)
		put_push(out, service, packed, packed_bytes);
	else
		put_write(out, service, packed, packed_bytes);
	mem_stream_close(out);
	free(packed);
	return NULL;
}
