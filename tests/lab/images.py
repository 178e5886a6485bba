#!/usr/bin/env python3
"""Packs programs as container images, one docker-archive each, under their upstream names: images.py PROGRAMS ROOT IMAGES."""
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
BIN, ROOT, OUT = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
FLANNEL = re.search(r"github.com/flannel-io/flannel (v\S+)", (HERE / "cni/go.mod").read_text())[1]
# The names that flannel's own manifest of that version has.
FLANNEL_IMAGE, FLANNEL_PLUGIN_IMAGE = f"ghcr.io/flannel-io/flannel:{FLANNEL}", "ghcr.io/flannel-io/flannel-cni-plugin:v1.9.1-flannel1"


def from_root(*paths):
    """Files of the hosts' root with the libraries they need: {path in image: file}."""
    files = {}
    for path in paths:
        libraries = subprocess.run(["chroot", ROOT, "ldd", path], capture_output=True, text=True).stdout.split()
        for name in [path] + [word for word in libraries if word.startswith("/")]:
            real = os.path.realpath(ROOT / name.lstrip("/"))  # an absolute link may have led out of the root
            files[name] = ROOT / real.removeprefix(str(ROOT)).lstrip("/")
    return files


def write_image(name, files, links=None, entrypoint=None, command=None):
    """Writes one image of one layer to OUT; what it is called there, and its name."""
    archive = OUT / (name.split("/")[-1].split(":")[0] + ".tar")
    layer = archive.with_name(archive.name + ".layer")
    with tarfile.open(layer, "w", format=tarfile.GNU_FORMAT) as tar:
        for path, source in sorted(files.items()):
            info = tar.gettarinfo(source, path.lstrip("/"))
            info.mtime, info.uid, info.gid, info.uname, info.gname = 0, 0, 0, "", ""
            with open(source, "rb") as content:
                tar.addfile(info, content)
        for path, target in sorted((links or {}).items()):
            info = tarfile.TarInfo(path.lstrip("/"))
            info.type, info.linkname = tarfile.SYMTYPE, target
            tar.addfile(info)
        for path in ("tmp", "etc", "run"):
            info = tarfile.TarInfo(path)
            info.type, info.mode = tarfile.DIRTYPE, 0o1777 if path == "tmp" else 0o755
            tar.addfile(info)
    with open(layer, "rb") as content:
        digest = hashlib.file_digest(content, "sha256").hexdigest()
    config = json.dumps({
        "architecture": "amd64", "os": "linux", "created": "1970-01-01T00:00:00Z",
        "config": {"Env": [PATH], "Entrypoint": entrypoint, "Cmd": command, "WorkingDir": "/"},
        "rootfs": {"type": "layers", "diff_ids": ["sha256:" + digest]},
    }).encode()
    config_name = hashlib.sha256(config).hexdigest() + ".json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": [digest + "/layer.tar"]}]).encode()
    with tarfile.open(archive, "w", format=tarfile.GNU_FORMAT) as tar:
        for path, content in ((config_name, config), ("manifest.json", manifest)):
            info = tarfile.TarInfo(path)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        tar.add(layer, digest + "/layer.tar")
    layer.unlink()
    print(f"{archive.stat().st_size >> 20:5} MiB  {name}")
    return f"{archive.name} {name}\n"


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([BIN / "kubelet", "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    names = subprocess.run([BIN / "kubeadm", "config", "images", "list", "--kubernetes-version", version],
                           capture_output=True, text=True, check=True).stdout.split()
    xtables = "usr/lib/x86_64-linux-gnu/xtables"
    netfilter = from_root("/usr/sbin/xtables-nft-multi", "/usr/sbin/nft", "/usr/sbin/conntrack",
                          *(f"/{xtables}/{p.name}" for p in (ROOT / xtables).glob("*.so")))
    netfilter_links = {f"/usr/sbin/{v}tables{suffix}": "xtables-nft-multi" for v in ("ip", "ip6") for suffix in ("", "-save", "-restore")}
    programs = {
        "etcd": {"/usr/local/bin/" + p: BIN / p for p in ("etcd", "etcdctl", "etcdutl")},
        "pause": {"/pause": BIN / "pause"},
        "coredns": {"/coredns": BIN / "coredns"},
    }
    written = ""
    for name in names:
        program = name.split("/")[-1].split(":")[0]
        files = dict(programs.get(program) or {f"/usr/local/bin/{program}": BIN / program})
        links = {}
        if program == "kube-proxy":
            files.update(netfilter)
            links = netfilter_links
        written += write_image(name, files, links, [sorted(files)[0]] if program in ("pause", "coredns") else None)
    shell = from_root("/bin/dash", "/bin/cp", "/bin/mv", "/bin/cat", "/bin/sleep", "/bin/hostname")
    written += write_image(FLANNEL_IMAGE, {**shell, **netfilter, **from_root("/bin/ip"), "/opt/bin/flanneld": BIN / "flannel"},
                {**netfilter_links, "/bin/sh": "dash"}, ["/opt/bin/flanneld"])
    written += write_image(FLANNEL_PLUGIN_IMAGE, {**shell, "/flannel": HERE / "flannel-cni.sh"}, {"/bin/sh": "dash"})
    written += write_image("localhost/tools:lab", {**shell, **from_root("/usr/bin/curl", "/usr/bin/socat", "/usr/bin/getent", "/bin/ip", "/bin/ping", "/usr/bin/env",
                "/lib/x86_64-linux-gnu/libnss_dns.so.2")}, {"/bin/sh": "dash"}, ["/bin/sh"])
    (OUT / "names").write_text(written)


if __name__ == "__main__":
    main()
