#!/usr/bin/env python3
"""A file server for mirror tests: serve.py ADDRESS PORT DIRECTORY [CUT]. Answers ranges; cuts every answer after CUT bytes, if given.
With LAB_TLS=DIR, serves over TLS with DIR/cert.pem."""
import functools
import http.server
import os
import re
import ssl
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cut = 0

    def do_GET(self):
        path = self.translate_path(self.path)
        if not os.path.isfile(path):
            return super().do_GET()
        size, start = os.path.getsize(path), 0
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if wanted:
            start = int(wanted[1])
            if start >= size:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{size}")
                self.send_header("Content-Length", "0")
                return self.end_headers()
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{size - 1}/{size}")
        else:
            self.send_response(200)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(size - start))
        self.end_headers()
        left = min(size - start, self.cut or size)
        with open(path, "rb") as file:
            file.seek(start)
            while left > 0 and (block := file.read(min(left, 1 << 16))):
                self.wfile.write(block)
                left -= len(block)
        if self.cut and size - start > self.cut:
            self.close_connection = True


def main():
    address, port, directory, *cut = sys.argv[1:]
    Handler.cut = int(cut[0]) if cut else 0
    server = http.server.ThreadingHTTPServer((address, int(port)), functools.partial(Handler, directory=directory))
    if "LAB_TLS" in os.environ:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(os.environ["LAB_TLS"] + "/cert.pem", os.environ["LAB_TLS"] + "/key.pem")
        server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


if __name__ == "__main__":
    main()
