"""The front door of the cloud, a proxy: clients reach each API through it; services connect to each other directly.

It writes a line for each request to CALLS, and answers in place of a service according to the files in FAULTS.
"""

import http.client
import http.server
import json
import pathlib
import re
import socket
import ssl
import threading
import time

OFFSET, TLS_OFFSET = 10000, 20000  # public endpoints of RegionOne, of RegionTLS
PORTS = {5000: "keystone", 8774: "nova", 8776: "cinder", 8778: "placement", 9292: "glance", 9696: "neutron", 9876: "octavia"}
CALLS = pathlib.Path("/oslab/log/calls.log")
FAULTS = pathlib.Path("/oslab/faults")
HOP_BY_HOP = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade", "proxy-connection"}
lock = threading.Lock()


def fault(service, method, path):
    """Returns the fault for this request and its duration: a status, "lost", "reset" or "hang"; None without a fault.

    A fault is a file SERVICE.N with {"does", "method", "path", "times", "until"}; a fault that has occurred often enough is removed.
    """
    for file in sorted(FAULTS.glob(f"{service}.*")):
        with lock:
            try:
                order = json.loads(file.read_text())
            except (FileNotFoundError, ValueError):
                continue
            if order.get("until") and time.time() > order["until"]:
                file.unlink(missing_ok=True)
                continue
            if not re.fullmatch(order.get("method") or ".*", method) or not re.search(order.get("path") or "", path):
                continue
            if order.get("times"):
                order["times"] -= 1
                if order["times"]:
                    new = file.with_name("." + file.name)
                    new.write_text(json.dumps(order))
                    new.rename(file)
                else:
                    file.unlink(missing_ok=True)
            return str(order["does"])
    return None


class Door(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def handle_any(self):
        begun = time.monotonic()
        port = self.server.server_address[1] % 10000
        service = PORTS[port]
        body = self.body()
        does = fault(service, self.command, self.path)
        if does and does.isdigit():
            self.reply(int(does), [("Content-Type", "application/json")], json.dumps({"error": {
                "code": int(does), "title": "Fault of the lab", "message": "The lab answers in the service's stead."}}).encode())
            result = f"{does} fault"
        elif does == "reset":
            self.drop()
            result = "- reset"
        elif does == "hang":
            self.log_call(service, begun, "- hang")
            time.sleep(600)
            self.drop()
            return
        else:
            result = self.pass_on(port, body, answer=does != "lost")
        self.log_call(service, begun, result)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = handle_any

    def body(self):
        if "chunked" in (self.headers.get("Transfer-Encoding") or ""):
            parts = []
            while size := int(self.rfile.readline().split(b";")[0], 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def pass_on(self, port, body, answer):
        """Forwards the request to the service; with `answer` false, the client does not get the answer."""
        headers = {name: value for name, value in self.headers.items() if name.lower() not in HOP_BY_HOP | {"content-length"}}
        if body or self.command in ("POST", "PUT", "PATCH"):
            headers["Content-Length"] = str(len(body))
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
        try:
            connection.request(self.command, self.path, body, headers)
            response = connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.drop()  # for a client, a stopped service closes the connection
            return f"- {type(error).__name__}"
        finally:
            connection.close()
        if not answer:
            self.drop()
            return f"{response.status} lost"
        back = [(name, value) for name, value in response.getheaders() if name.lower() not in HOP_BY_HOP | {"content-length"}]
        if self.server.tls:  # services do not know about TLS; their links must point to this server
            here = f"127.0.0.1:{self.server.server_address[1]}"
            content = content.replace(f"http://{here}".encode(), f"https://{here}".encode())
            back = [(name, value.replace(f"http://{here}", f"https://{here}")) for name, value in back]
        self.reply(response.status, back, content, response.getheader("Content-Length"))
        return f"{response.status}"

    def reply(self, status, headers, content, length=None):
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value)
        if status not in (204, 304):
            self.send_header("Content-Length", length if self.command == "HEAD" and length else str(len(content)))
        self.end_headers()
        if self.command != "HEAD" and status not in (204, 304):
            self.wfile.write(content)

    def drop(self):
        self.close_connection = True
        try:
            self.connection.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass

    def log_call(self, service, begun, result):
        agent = (self.headers.get("User-Agent") or "-").split(" ")[0]
        line = (f"{time.time():.3f} {service} {self.command} {self.path} {result} "
                f"{(time.monotonic() - begun) * 1000:.0f}ms {agent}\n")
        with lock, CALLS.open("a") as file:
            file.write(line)

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, port, tls=None):
        super().__init__(("127.0.0.1", port), Door)
        self.tls = tls

    def finish_request(self, request, client_address):
        """Runs in a separate thread, so that a slow handshake does not delay other clients."""
        if self.tls:
            request = self.tls.wrap_socket(request, server_side=True)
        super().finish_request(request, client_address)

    def handle_error(self, request, client_address):
        pass  # the client has closed the connection, or does not trust the certificate


def main():
    FAULTS.mkdir(exist_ok=True)
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain("/oslab/front/front.crt", "/oslab/front/front.key")
    for port in PORTS:
        for server in Server(port + OFFSET), Server(port + TLS_OFFSET, tls):
            threading.Thread(target=server.serve_forever, daemon=True).start()
    threading.Event().wait()


if __name__ == "__main__":
    main()
