/* SPDX-License-Identifier: Apache-2.0 */
/*
 * push_http.c: see push_http.h.
 *
 * libcurl is opened only to push: it loads some thirty libraries, for which every other command and
 * the sidecar of each recording would wait (serve_http.c has figures for fewer).
 */
#include "push_http.h"

#include <curl/curl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../base/cleanup.h"
#include "../../base/late_library.h"
#include "../../base/mem.h"
#include "../../base/text.h"

#define EACH_FUNCTION(each)                                                                     \
	each(global_init) each(easy_init) each(easy_setopt) each(easy_perform)                  \
	each(easy_getinfo) each(easy_cleanup) each(easy_strerror) each(slist_append)            \
	each(slist_free_all) each(url) each(url_set) each(url_get) each(url_cleanup) each(free)

/* The library's functions, as its header declares them. */
static struct {
#define FIELD(name) __typeof__(&curl_##name) name;
	EACH_FUNCTION(FIELD)
#undef FIELD
} curl;

enum { REPLY = 200 }; /* bytes kept of what a receiver says */

struct push_http {
	CURL *easy;
	CURLU *url;
	char *name;
	struct curl_slist *headers;
	enum push_receiver receiver;
	char error[CURL_ERROR_SIZE];
	char reply[REPLY + 1]; /* the begin of the answer's body */
	size_t reply_bytes;
	char status[16], message[REPLY + 1]; /* of gRPC */
};

static struct shiny_err *open_library(void)
{
	static const char *const files[] = { "libcurl.so.4", "libcurl-gnutls.so.4", NULL };
	static const struct late_function functions[] = {
#define ROW(name) { "curl_" #name, &curl.name },
		EACH_FUNCTION(ROW)
#undef ROW
	};
	const char *why =
		late_library_open(files, functions, sizeof(functions) / sizeof(*functions));

	if (!why && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		why = "libcurl does not start";
	return why ? shiny_err_advise(shiny_err(SHINY_ERR_OTHER, "cannot push: %s", why),
				      "install it: apt-get install libcurl4")
		   : NULL;
}

/* ---- what a receiver says ---- */

static size_t on_body(char *data, size_t size, size_t count, void *context)
{
	struct push_http *http = context;
	size_t bytes = size * count, room = REPLY - http->reply_bytes;

	memcpy(http->reply + http->reply_bytes, data, bytes < room ? bytes : room);
	http->reply_bytes += bytes < room ? bytes : room;
	return bytes;
}

/* Copies the value of a header or trailer with this name. */
static void keep_header(const char *data, size_t bytes, const char *name, char *out, size_t room)
{
	size_t length = strlen(name);

	if (bytes <= length || strncasecmp(data, name, length) != 0)
		return;
	while (length < bytes && data[length] == ' ')
		length++;
	snprintf(out, room, "%.*s", (int)(bytes - length), data + length);
	out[strcspn(out, "\r\n")] = '\0';
}

static size_t on_header(char *data, size_t size, size_t count, void *context)
{
	struct push_http *http = context;

	keep_header(data, size * count, "grpc-status:", http->status, sizeof(http->status));
	keep_header(data, size * count, "grpc-message:", http->message, sizeof(http->message));
	return size * count;
}

/* ---- opening ---- */

static bool add_header(struct push_http *http, const char *header)
{
	struct curl_slist *more = curl.slist_append(http->headers, header);

	http->headers = more ?: http->headers;
	return more;
}

static struct shiny_err *read_headers(struct push_http *http, const char *path)
{
	AUTO_FCLOSE FILE *file = fopen(path, "re");
	AUTO_FREE char *line = NULL;
	size_t room = 0;

	if (!file)
		return shiny_err_os(errno, "cannot read the headers in %s", path);
	while (getline(&line, &room, file) > 0) {
		line[strcspn(line, "\r\n")] = '\0';
		if (!*line)
			continue;
		if (!strchr(line, ':')) /* what it has may be secret */
			return shiny_err(SHINY_ERR_USAGE,
					 "push: %s: a line is no header NAME: VALUE", path);
		add_header(http, line);
	}
	return NULL;
}

/* Returns a part of the URL; the caller frees it. "": it has none. */
static char *part_of(CURLU *url, CURLUPart part)
{
	char *text = NULL, *copy;

	if (curl.url_get(url, part, &text, 0) != CURLUE_OK)
		return mem_text("");
	copy = mem_text(text);
	curl.free(text);
	return copy;
}

static struct shiny_err *parse_url(struct push_http *http, const char *url)
{
	AUTO_FREE char *scheme = NULL, *path = NULL, *user = NULL, *password = NULL;
	CURLUcode bad = curl.url_set(http->url, CURLUPART_URL, url, 0);

	scheme = part_of(http->url, CURLUPART_SCHEME);
	if (bad || (strcmp(scheme, "http") != 0 && strcmp(scheme, "https") != 0))
		return shiny_err_advise(
			shiny_err(SHINY_ERR_USAGE, "push: this is no URL of http or https: %s",
				  strchr(url, '@') ? "(it has a password)" : url),
			"for example --to http://localhost:4040/ingest");
	path = part_of(http->url, CURLUPART_PATH);
	http->receiver = push_receiver_of(path);
	user = part_of(http->url, CURLUPART_USER);
	password = part_of(http->url, CURLUPART_PASSWORD);
	curl.url_set(http->url, CURLUPART_USER, NULL, 0);
	curl.url_set(http->url, CURLUPART_PASSWORD, NULL, 0);
	http->name = part_of(http->url, CURLUPART_URL);
	if (*user)
		curl.url_set(http->url, CURLUPART_USER, user, 0);
	if (*password)
		curl.url_set(http->url, CURLUPART_PASSWORD, password, 0);
	return NULL;
}

static struct shiny_err *prepare(struct push_http *http, const char *url, const char *headers)
{
	const struct push_protocol *protocol;
	AUTO_FREE char *type = NULL, *encoding = NULL, *scheme = NULL;

	if (!http->easy || !http->url)
		return shiny_err(SHINY_ERR_OTHER, "cannot push: libcurl does not start");
	SHINY_TRY(parse_url(http, url));
	protocol = &push_protocols[http->receiver];
	if (headers)
		SHINY_TRY(read_headers(http, headers));
	type = mem_format("Content-Type: %s", protocol->type);
	add_header(http, type);
	encoding = mem_format("Content-Encoding: %s", protocol->encoding);
	if (*protocol->encoding)
		add_header(http, encoding);
	if (protocol->http == 2)
		add_header(http, "te: trailers");
	add_header(http, "Expect:"); /* it would wait for a go-ahead */
	scheme = part_of(http->url, CURLUPART_SCHEME);
	curl.easy_setopt(http->easy, CURLOPT_HTTP_VERSION,
			 protocol->http != 2		      ? (long)CURL_HTTP_VERSION_1_1
			 : strcmp(scheme, "https") == 0 ? (long)CURL_HTTP_VERSION_2TLS
						      : (long)CURL_HTTP_VERSION_2_PRIOR_KNOWLEDGE);
	curl.easy_setopt(http->easy, CURLOPT_HTTPHEADER, http->headers);
	curl.easy_setopt(http->easy, CURLOPT_USERAGENT, "shiny/" SHINY_VERSION_TEXT);
	curl.easy_setopt(http->easy, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(http->easy, CURLOPT_TIMEOUT, (long)PUSH_HTTP_SECONDS);
	curl.easy_setopt(http->easy, CURLOPT_ERRORBUFFER, http->error);
	curl.easy_setopt(http->easy, CURLOPT_WRITEFUNCTION, on_body);
	curl.easy_setopt(http->easy, CURLOPT_WRITEDATA, http);
	curl.easy_setopt(http->easy, CURLOPT_HEADERFUNCTION, on_header);
	curl.easy_setopt(http->easy, CURLOPT_HEADERDATA, http);
	return NULL;
}

struct shiny_err *push_http_open(const char *url, const char *headers, struct push_http **out)
{
	struct push_http *http;
	struct shiny_err *err;

	SHINY_TRY(open_library());
	http = mem_zero(1, sizeof(*http));
	http->easy = curl.easy_init();
	http->url = curl.url();
	err = prepare(http, url, headers);
	if (err)
		push_http_close(http);
	else
		*out = http;
	return err;
}

void push_http_close(struct push_http *http)
{
	if (!http)
		return;
	curl.easy_cleanup(http->easy);
	curl.url_cleanup(http->url);
	curl.slist_free_all(http->headers);
	free(http->name);
	free(http);
}

enum push_receiver push_http_receiver(const struct push_http *http)
{
	return http->receiver;
}

const char *push_http_name(const struct push_http *http)
{
	return http->name;
}

/* ---- sending ---- */

/* Adds a member of the query, if the URL does not have it. */
static void add_query(CURLU *url, const char *key, const char *value)
{
	AUTO_FREE char *query = part_of(url, CURLUPART_QUERY), *behind = NULL, *pair = NULL;

	behind = mem_format("&%s", query);
	pair = mem_format("&%s=", key);
	if (strstr(behind, pair))
		return;
	free(pair);
	pair = mem_format("%s=%s", key, value);
	curl.url_set(url, CURLUPART_QUERY, pair, CURLU_APPENDQUERY | CURLU_URLENCODE);
}

/* Makes the URL of a request to Pyroscope's form. */
static void set_query(CURLU *url, const struct push_request *request)
{
	char from[24], to[24];

	snprintf(from, sizeof(from), "%" PRIu64, request->from);
	snprintf(to, sizeof(to), "%" PRIu64, request->to);
	add_query(url, "name", request->service);
	add_query(url, "format", "pprof");
	add_query(url, "spyName", "shiny");
	add_query(url, "from", from);
	add_query(url, "until", to);
}

static char *why_not(struct push_http *http, CURLcode code)
{
	AUTO_FREE char *said = NULL;
	long status = 0;

	if (code != CURLE_OK)
		return mem_format("%s", *http->error ? http->error : curl.easy_strerror(code));
	curl.easy_getinfo(http->easy, CURLINFO_RESPONSE_CODE, &status);
	http->reply[http->reply_bytes] = '\0';
	http->reply[strcspn(http->reply, "\r\n")] = '\0';
	said = text_plain(*http->message ? http->message : http->reply);
	if (status < 200 || status > 299)
		return mem_format("HTTP %ld%s%s", status, *said ? ": " : "", said);
	if (push_protocols[http->receiver].http == 2 && strcmp(http->status, "0") != 0)
		return mem_format("gRPC status %s%s%s", *http->status ? http->status : "(none)",
				  *http->message ? ": " : "", *http->message ? said : "");
	return NULL;
}

char *push_http_send(struct push_http *http, const struct push_request *request)
{
	AUTO_FREE char *whole = part_of(http->url, CURLUPART_URL);
	CURLU *url = curl.url();
	char *why = NULL;

	if (!url || curl.url_set(url, CURLUPART_URL, whole, 0) != CURLUE_OK) {
		curl.url_cleanup(url);
		return mem_text("there is no memory for it");
	}
	if (http->receiver == PUSH_PYROSCOPE)
		set_query(url, request);
	*http->error = *http->status = *http->message = '\0';
	http->reply_bytes = 0;
	curl.easy_setopt(http->easy, CURLOPT_CURLU, url);
	curl.easy_setopt(http->easy, CURLOPT_POST, 1L);
	curl.easy_setopt(http->easy, CURLOPT_POSTFIELDS, request->body);
	curl.easy_setopt(http->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->bytes);
	why = why_not(http, curl.easy_perform(http->easy));
	curl.easy_setopt(http->easy, CURLOPT_CURLU, NULL);
	curl.url_cleanup(url);
	return why;
}
