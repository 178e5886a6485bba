#!/usr/bin/env python3
"""Replaces the upstream servers: fill|more BIN IMAGES DIRECTORY PORT | token ADDRESS PORT DIRECTORY.

fill makes DIRECTORY/files, the layout of the release servers, and pushes the images to the registry on loopback at PORT.
more adds what only some tests have built: containerd and runc, and the images of some addons.
token serves the registry's token server: it signs with DIRECTORY/key.pem, for the user of DIRECTORY/password."""
import base64
import gzip
import hashlib
import http.client
import http.server
import json
import os
import pathlib
import re
import ssl
import subprocess
import sys
import tarfile
import time
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
PLUGINS = re.search(r"github.com/containernetworking/plugins (v\S+)", (HERE / "cni/go.mod").read_text())[1]
CONTAINERD, RUNC = (re.search(rf"^{name}=(\S+)$", (HERE / "containerd.sh").read_text(), re.M)[1] for name in ("containerd", "runc"))
ADDONS = ("kube-vip", "etcd-3.6")
MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
MANIFESTS = "application/vnd.docker.distribution.manifest.list.v2+json"
CONFIG = "application/vnd.docker.container.image.v1+json"
LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"


def sha256(content):
    return "sha256:" + hashlib.sha256(content).hexdigest()


def placed(path, source=None):
    """Links the source, if given, and returns the SHA-256 of the file."""
    if source:
        path.parent.mkdir(parents=True, exist_ok=True)
        os.link(source, path)
    with open(path, "rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    return digest


def fill_files(programs, files):
    version = subprocess.run([programs / "kubelet", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    for name in ("kubelet", "kubeadm", "kubectl"):
        path = files / f"release/{version}/bin/linux/amd64/{name}"
        path.with_name(name + ".sha256").write_text(placed(path, programs / name))
    path = files / f"containernetworking/plugins/releases/download/{PLUGINS}/cni-plugins-linux-amd64-{PLUGINS}.tgz"
    path.parent.mkdir(parents=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in ("bridge", "host-local", "loopback", "portmap"):
            archive.add(programs / name, f"./{name}")
    path.with_name(path.name + ".sha256").write_text(f"{placed(path)}  {path.name}\n")


def fill_runtime(programs, files):
    path = files / f"containerd/containerd/releases/download/{CONTAINERD}/containerd-static-{CONTAINERD[1:]}-linux-amd64.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz", compresslevel=1) as archive:
        for name in ("containerd", "containerd-shim-runc-v2", "ctr"):
            archive.add(programs / name, f"bin/{name}")
    path.with_name(path.name + ".sha256sum").write_text(f"{placed(path)}  {path.name}\n")
    path = files / f"opencontainers/runc/releases/download/{RUNC}/runc.amd64"
    path.unlink(missing_ok=True)
    digest = placed(path, programs / "runc")
    path.with_name("runc.sha256sum").write_text(f"{digest} *{path.name}\n")


class Registry:
    """Pushes to a registry on loopback."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)

    def ask(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status >= 300:
            sys.exit(f"{method} {path}: {answer.status} {text.decode(errors='replace')}")
        return answer

    def blob(self, repository, content):
        location = self.ask("POST", f"/v2/{repository}/blobs/uploads/").headers["Location"]
        place = urllib.parse.urlsplit(location)
        query = f"{place.query}&digest={sha256(content)}"
        self.ask("PUT", f"{place.path}?{query}", content, {"Content-Type": "application/octet-stream"})
        return {"digest": sha256(content), "size": len(content)}

    def manifest(self, repository, reference, content):
        text = json.dumps(content).encode()
        self.ask("PUT", f"/v2/{repository}/manifests/{reference or sha256(text)}", text, {"Content-Type": content["mediaType"]})
        return {"mediaType": content["mediaType"], "digest": sha256(text), "size": len(text)}

    def push(self, archive, name):
        """Pushes an image for amd64 in an index with another one for arm64, as in upstream images."""
        repository, tag = name.split("/", 1)[1].rsplit(":", 1)
        with tarfile.open(archive) as tar:
            described = json.load(tar.extractfile("manifest.json"))[0]
            config = tar.extractfile(described["Config"]).read()
            layers = [gzip.compress(tar.extractfile(layer).read(), 1, mtime=0) for layer in described["Layers"]]
        layers = [{"mediaType": LAYER, **self.blob(repository, layer)} for layer in layers]
        listed = []
        for architecture in ("arm64", "amd64"):
            own = json.dumps({**json.loads(config), "architecture": architecture}).encode()
            manifest = {"schemaVersion": 2, "mediaType": MANIFEST, "config": {"mediaType": CONFIG, **self.blob(repository, own)}, "layers": layers}
            listed.append({**self.manifest(repository, None, manifest), "platform": {"os": "linux", "architecture": architecture}})
        self.manifest(repository, tag, {"schemaVersion": 2, "mediaType": MANIFESTS, "manifests": listed})


def fill(programs, images, directory, port):
    fill_files(programs, directory / "files")
    registry = Registry(int(port))
    for line in (images / "names").read_text().splitlines():
        archive, name = line.split()
        if not name.startswith("localhost/"):
            registry.push(images / archive, name)


def more(programs, images, directory, port):
    if (programs / "runtime").exists():
        fill_runtime(programs / "runtime", directory / "files")
    for archive in filter(pathlib.Path.exists, (images / "addons" / f"{name}.tar" for name in ADDONS)):
        with tarfile.open(archive) as tar:
            name = json.load(tar.extractfile("manifest.json"))[0]["RepoTags"][0]
        Registry(int(port)).push(archive, name)


class TokenServer(http.server.BaseHTTPRequestHandler):
    """Issues a token for the requested access, valid for five minutes, as in the documentation of the registry."""

    protocol_version = "HTTP/1.1"
    directory = None

    def do_GET(self):
        user = base64.b64encode((self.directory / "password").read_bytes().strip()).decode()
        if self.headers.get("Authorization") != f"Basic {user}":
            return self.answer(401, {"details": "incorrect username or password"})
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        access = []
        for scope in query.get("scope", []):
            kind, name, actions = scope.split(":")
            access.append({"type": kind, "name": name, "actions": actions.split(",")})
        now = int(time.time())
        certificate = ssl.PEM_cert_to_DER_cert((self.directory / "cert.pem").read_text())
        header = {"typ": "JWT", "alg": "RS256", "x5c": [base64.b64encode(certificate).decode()]}
        claims = {"iss": "lab", "sub": "lab", "aud": query["service"][0], "exp": now + 300, "nbf": now - 10, "iat": now, "jti": str(now), "access": access}
        signed = ".".join(self.encode(json.dumps(part).encode()) for part in (header, claims))
        signature = subprocess.run(["openssl", "dgst", "-sha256", "-sign", self.directory / "key.pem"],
                                   input=signed.encode(), capture_output=True, check=True).stdout
        self.answer(200, {"token": f"{signed}.{self.encode(signature)}", "expires_in": 300})

    @staticmethod
    def encode(content):
        return base64.urlsafe_b64encode(content).rstrip(b"=").decode()

    def answer(self, status, content):
        text = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)


def serve_tokens(address, port, directory):
    TokenServer.directory = directory
    server = http.server.ThreadingHTTPServer((address, int(port)), TokenServer)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(directory / "cert.pem", directory / "key.pem")
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


def main():
    if sys.argv[1] in ("fill", "more"):
        {"fill": fill, "more": more}[sys.argv[1]](*(pathlib.Path(word) for word in sys.argv[2:5]), sys.argv[5])
    else:
        serve_tokens(sys.argv[2], sys.argv[3], pathlib.Path(sys.argv[4]))


if __name__ == "__main__":
    main()
