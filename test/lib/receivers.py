# SPDX-License-Identifier: Apache-2.0
"""Receivers of profiles for push_test: HTTP, and gRPC over HTTP/2 by python3-h2; and protocol
buffers read by their numbers alone."""
import http.server
import socket
import sys
import threading

sys.path.append("/usr/lib/python3/dist-packages")  # Debian's, for another interpreter
try:
    import h2.config
    import h2.connection
    import h2.events
except ImportError:
    h2 = None


class Request:
    def __init__(self, path, headers, body):
        self.path, self.headers, self.body = path, headers, body


class Receiver:
    """Answers with `statuses`, one a request, then with the last one. "close": it closes the
    connection; "hang": it answers nothing until end()."""

    def __init__(self, *statuses):
        self.statuses, self.requests, self.ended = list(statuses), [], threading.Event()
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                status = receiver.take(Request(self.path, dict(self.headers), body))
                if status == "hang":
                    receiver.ended.wait()
                if status in ("close", "hang"):
                    self.close_connection = True
                    return
                self.send_response(status)
                self.end_headers()
                self.wfile.write(b"because\nof \x1b[1m this" if status != 200 else b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def take(self, request):
        request.status = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        self.requests.append(request)
        return request.status

    def taken(self):
        return [request for request in self.requests if request.status == 200]

    def end(self):
        self.ended.set()
        self.server.shutdown()
        self.server.server_close()


class GrpcReceiver:
    """Answers each call with a gRPC status."""

    def __init__(self, status):
        self.status, self.requests, self.socket = status, [], socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self.socket.getsockname()[1]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                self.speak(self.socket.accept()[0])
            except OSError:
                return

    def speak(self, connection):
        peer = h2.connection.H2Connection(h2.config.H2Configuration(client_side=False))
        peer.initiate_connection()
        connection.sendall(peer.data_to_send())
        headers, body = {}, b""
        while data := connection.recv(65536):
            for event in peer.receive_data(data):
                if isinstance(event, h2.events.RequestReceived):
                    headers = {as_text(name): as_text(value) for name, value in event.headers}
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                    peer.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                elif isinstance(event, h2.events.StreamEnded):
                    self.requests.append(Request(headers[":path"], headers, body))
                    peer.send_headers(event.stream_id, [(":status", "200"),
                                                        ("content-type", "application/grpc")])
                    peer.send_data(event.stream_id, b"\0\0\0\0\0")
                    peer.send_headers(event.stream_id, [("grpc-status", str(self.status)),
                                                        ("grpc-message", "for a reason")],
                                      end_stream=True)
            connection.sendall(peer.data_to_send())

    def end(self):
        self.socket.close()


def as_text(value):
    return value.decode() if isinstance(value, bytes) else value


def varint(data, at):
    value = shift = 0
    while True:
        value |= (data[at] & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if data[at - 1] < 0x80:
            return value, at


def fields(data):
    """{field number: [values]} of a message: numbers, and bytes."""
    found, at = {}, 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 1:
            value, at = int.from_bytes(data[at:at + 8], "little"), at + 8
        else:
            assert tag & 7 == 2, tag
            size, at = varint(data, at)
            assert at + size <= len(data)
            value, at = data[at:at + size], at + size
        found.setdefault(tag >> 3, []).append(value)
    return found


def packed(data):
    found, at = [], 0
    while at < len(data):
        value, at = varint(data, at)
        found.append(value)
    return found
