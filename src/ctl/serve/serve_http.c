/* SPDX-License-Identifier: Apache-2.0 */
/*
 * serve_http.c: see serve_http.h.
 *
 * libmicrohttpd is opened only to serve: it loads GnuTLS and eight more libraries, and linked to
 * them every other command, and the sidecar of each recording, took 5.7 million instructions and
 * 160 page faults more to start, 2.3 of 7.0 ms.
 *
 * An idle connection costs nothing, so any program of the machine can hold all that are allowed.
 * When half of them are taken, the next one ends the oldest that has sent no request; if all have,
 * the oldest whose page is made: its reader is slow.
 */
#define _GNU_SOURCE
#include "serve_http.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "../../base/cleanup.h"
#include "../../base/late_library.h"
#include "../../base/mem.h"

enum { TOKEN_BYTES = 16, TOKEN = 2 * TOKEN_BYTES };
enum { CONNECTIONS = 256, CROWDED = CONNECTIONS / 2 };
enum { LOOK_MS = 10 }; /* between two checks of pages being made */

#define EACH_FUNCTION(each)                                         \
	each(add_response_header) each(create_response_from_buffer) \
	each(create_response_from_fd) each(destroy_response)        \
	each(get_connection_info) each(get_daemon_info)             \
	each(lookup_connection_value) each(queue_response)          \
	each(resume_connection) each(run_wait) each(start_daemon)   \
	each(stop_daemon) each(suspend_connection)

/* The library's functions, as its header declares them. */
static struct {
#define FIELD(name) __typeof__(&MHD_##name) name;
	EACH_FUNCTION(FIELD)
#undef FIELD
} mhd;

/* An open connection, and the document that it waits for. */
struct visitor {
	struct visitor *next;
	struct MHD_Connection *connection;
	struct serve_job *job; /* NULL: no request yet, or answered */
	bool asked, ended;     /* ended: we shut it down */
};

struct serve_http {
	struct MHD_Daemon *daemon;
	struct serve_jobs jobs;
	struct visitor *visitors; /* latest first */
	unsigned visitor_count;
	char token[TOKEN + 1];
	char hosts[2][32]; /* accepted values of the header Host */
};

static struct shiny_err *open_library(void)
{
	static const char *const files[] = { "libmicrohttpd.so.12", NULL };
	static const struct late_function functions[] = {
#define ROW(name) { "MHD_" #name, &mhd.name },
		EACH_FUNCTION(ROW)
#undef ROW
	};
	const char *why =
		late_library_open(files, functions, sizeof(functions) / sizeof(*functions));

	return why ? shiny_err_advise(shiny_err(SHINY_ERR_OTHER, "cannot serve: %s", why),
				      "install it: apt-get install libmicrohttpd12")
		   : NULL;
}

/* `response` NULL: no memory for it. */
static enum MHD_Result answer(struct MHD_Connection *connection, unsigned status,
			      struct MHD_Response *response, const struct serve_result *result)
{
	const char *const headers[][2] = {
		{ "Content-Type",
		  result->packed ? "application/octet-stream" : "text/html; charset=utf-8" },
		{ "Content-Security-Policy",
		  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
		  "img-src data:; frame-ancestors 'none'; form-action 'self'; base-uri 'none'" },
		{ "Cache-Control", "no-store" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Referrer-Policy", "no-referrer" },
		{ "X-Content-Type-Options", "nosniff" },
	};
	enum MHD_Result queued;
	char seconds[16];

	if (!response)
		return MHD_NO;
	for (size_t i = 0; i < sizeof(headers) / sizeof(*headers); i++)
		mhd.add_response_header(response, headers[i][0], headers[i][1]);
	snprintf(seconds, sizeof(seconds), "%u", result->refresh);
	if (result->refresh)
		mhd.add_response_header(response, "Refresh", seconds);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		mhd.add_response_header(response, "Allow", "GET, HEAD");
	queued = mhd.queue_response(connection, status, response);
	mhd.destroy_response(response);
	return queued;
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status, const char *why)
{
	AUTO_FREE char *text = mem_format(
		"<!doctype html><html lang=\"en\"><title>Shiny</title><p>%s</p>\n", why);

	return answer(connection, status,
		      mhd.create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_COPY),
		      &(struct serve_result){ 0 });
}

static bool is_host(const struct serve_http *http, struct MHD_Connection *connection)
{
	const char *host =
		mhd.lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	return host && (strcmp(host, http->hosts[0]) == 0 || strcmp(host, http->hosts[1]) == 0);
}

/* Returns the path after the token, or NULL. Takes constant time wherever the token differs. */
static const char *behind_token(const struct serve_http *http, const char *url)
{
	unsigned char different = 0;

	if (strlen(url) < TOKEN + 2 || url[0] != '/' || url[TOKEN + 1] != '/')
		return NULL;
	for (size_t i = 0; i < TOKEN; i++)
		different |= (unsigned char)(url[1 + i] ^ http->token[i]);
	return different ? NULL : url + TOKEN + 2;
}

/* ---- visitors ---- */

static void end_visitor(struct visitor *visitor)
{
	const union MHD_ConnectionInfo *info = mhd.get_connection_info(
		visitor->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	visitor->ended = true;
	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
}

/* Ends a visitor to make room for the next. */
static void end_oldest(struct serve_http *http)
{
	struct visitor *idle = NULL, *slow = NULL;

	for (struct visitor *v = http->visitors; v; v = v->next) {
		if (v->ended || v->job)
			continue;
		slow = v;
		idle = v->asked ? idle : v;
	}
	if (idle || slow)
		end_visitor(idle ? idle : slow);
}

static void on_connection(void *context, struct MHD_Connection *connection, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct serve_http *http = context;
	struct visitor *visitor = *state;

	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		if (http->visitor_count >= CROWDED)
			end_oldest(http);
		visitor = mem_zero(1, sizeof(*visitor));
		*visitor = (struct visitor){ .next = http->visitors, .connection = connection };
		http->visitors = visitor;
		http->visitor_count++;
		*state = visitor;
		return;
	}
	for (struct visitor **at = &http->visitors; *at; at = &(*at)->next)
		if (*at == visitor) {
			*at = visitor->next;
			http->visitor_count--;
			break;
		}
	if (visitor->job)
		serve_job_free(&http->jobs, visitor->job);
	free(visitor);
}

static struct visitor *visitor_of(struct MHD_Connection *connection)
{
	return mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT)
		->socket_context;
}

/* ---- requests ---- */

/* Answers with the result of the visitor's job, and frees the job. */
static enum MHD_Result hand_out(struct serve_http *http, struct visitor *visitor)
{
	struct serve_job *job = visitor->job;
	struct serve_result result = *job->result;
	off_t bytes = lseek(job->fd, 0, SEEK_END);
	int fd = job->fd;

	job->fd = -1; /* the response owns it, or it is closed here */
	visitor->job = NULL;
	serve_job_free(&http->jobs, job);
	result.why[sizeof(result.why) - 1] = '\0';
	if (!*result.why && result.found && bytes > 0)
		return answer(visitor->connection, MHD_HTTP_OK,
			      mhd.create_response_from_fd((size_t)bytes, fd), &result);
	close(fd);
	if (!*result.why)
		return refuse(visitor->connection, MHD_HTTP_NOT_FOUND, "There is no such page.");
	fprintf(stderr, "shinyctl: %s\n", result.why);
	return refuse(visitor->connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
		      "The session cannot be read: shinyctl serve has printed why.");
}

/* Called when the head of a request is there, and again when its job has ended. */
static enum MHD_Result on_request(void *context, struct MHD_Connection *connection,
				  const char *url, const char *method, const char *version,
				  const char *upload, size_t *upload_bytes, void **state)
{
	struct serve_http *http = context;
	struct visitor *visitor = visitor_of(connection);
	const char *path;

	(void)version, (void)upload;
	if (*upload_bytes) { /* ignore the body */
		*upload_bytes = 0;
		return MHD_YES;
	}
	if (*state)
		return visitor->job ? hand_out(http, visitor) : MHD_YES;
	*state = visitor;
	visitor->asked = true;
	if (!is_host(http, connection))
		return refuse(connection, MHD_HTTP_FORBIDDEN, "This host is not served.");
	path = behind_token(http, url);
	if (!path)
		return refuse(connection, MHD_HTTP_FORBIDDEN,
			      "The address lacks the token that shinyctl serve printed.");
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0)
		return refuse(connection, MHD_HTTP_METHOD_NOT_ALLOWED, "Only GET is answered.");
	visitor->job = serve_jobs_add(&http->jobs, path, visitor);
	if (!visitor->job)
		return MHD_NO;
	mhd.suspend_connection(connection);
	return MHD_YES;
}

static void on_answered(void *context, struct MHD_Connection *connection, void **state,
			enum MHD_RequestTerminationCode code)
{
	(void)context, (void)code;
	*state = NULL;
	visitor_of(connection)->asked = false;
}

static bool make_token(char token[TOKEN + 1])
{
	unsigned char random[TOKEN_BYTES];

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		return false;
	for (size_t i = 0; i < TOKEN_BYTES; i++)
		snprintf(token + 2 * i, 3, "%02x", random[i]);
	return true;
}

struct shiny_err *serve_http_start(uint16_t port, serve_fn *document, void *context,
				   char address[SERVE_ADDRESS], struct serve_http **out)
{
	struct serve_http *http;
	struct sockaddr_in here = { .sin_family = AF_INET,
				    .sin_port = htons(port),
				    .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	const union MHD_DaemonInfo *info;

	SHINY_TRY(open_library());
	http = mem_zero(1, sizeof(*http));
	serve_jobs_begin(&http->jobs, document, context);
	if (!make_token(http->token)) {
		int why = errno;

		serve_http_stop(http);
		return shiny_err_os(why, "cannot make a token");
	}
	http->daemon = mhd.start_daemon(
		MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, on_request, http,
		MHD_OPTION_SOCK_ADDR, &here, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
		MHD_OPTION_CONNECTION_TIMEOUT, 30u, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
		http, MHD_OPTION_NOTIFY_COMPLETED, on_answered, http, MHD_OPTION_END);
	info = http->daemon ? mhd.get_daemon_info(http->daemon, MHD_DAEMON_INFO_BIND_PORT) : NULL;
	if (!info) {
		int why = errno;

		serve_http_stop(http);
		return shiny_err_os(why, "cannot listen on 127.0.0.1, port %" PRIu16, port);
	}
	snprintf(http->hosts[0], sizeof(http->hosts[0]), "127.0.0.1:%" PRIu16, info->port);
	snprintf(http->hosts[1], sizeof(http->hosts[1]), "localhost:%" PRIu16, info->port);
	snprintf(address, SERVE_ADDRESS, "http://%s/%s/", http->hosts[0], http->token);
	*out = http;
	return NULL;
}

bool serve_http_run(struct serve_http *http, int milliseconds)
{
	struct serve_job *job;

	while ((job = serve_jobs_next(&http->jobs)))
		mhd.resume_connection(((struct visitor *)job->owner)->connection);
	if (serve_jobs_any(&http->jobs) && milliseconds > LOOK_MS)
		milliseconds = LOOK_MS;
	return mhd.run_wait(http->daemon, milliseconds) == MHD_YES;
}

void serve_http_stop(struct serve_http *http)
{
	if (!http)
		return;
	for (struct visitor *v = http->visitors; v; v = v->next)
		if (v->job)
			mhd.resume_connection(v->connection);
	if (http->daemon)
		mhd.stop_daemon(http->daemon);
	serve_jobs_end(&http->jobs);
	free(http);
}
