#!/usr/bin/env python3
"""Reports which programs used the processors of hosts of the lab: usage.py begin|end FILE HOST...; `end` prints one JSON line.

The cgroup of a host counts everything. What runs at the end is named by its process, with the commands that it ran and waited for. What
remains ended before: init containers, the shims of pods that are gone."""
import json
import os
import pathlib
import sys
import time

ROOT = pathlib.Path("/sys/fs/cgroup")
LAB = "nodeinit-lab"
# The name in /proc/PID/comm, which has 15 bytes, and the component that its time belongs to.
OWNERS = {
    "kube-apiserver": "kube-apiserver", "etcd": "etcd", "kubelet": "kubelet", "containerd": "containerd", "containerd-shim": "containerd",
    "kube-proxy": "kube-proxy", "flanneld": "flannel", "coredns": "CoreDNS", "kube-controller": "kube-controller-manager",
    "kube-scheduler": "kube-scheduler", "sshd": "commands over SSH", "systemd": "systemd", "systemd-journal": "systemd",
}
TICK = os.sysconf("SC_CLK_TCK")


def total(host):
    """Returns the total processor time of a host, in seconds."""
    if (ROOT / "cgroup.controllers").exists():
        fields = dict(line.split() for line in (ROOT / LAB / host / "cpu.stat").read_text().splitlines())
        return int(fields["usage_usec"]) / 1e6
    return int((ROOT / "cpuacct" / LAB / host / "cpuacct.usage").read_text()) / 1e9


def processes(host):
    top = ROOT / LAB / host if (ROOT / "cgroup.controllers").exists() else ROOT / "cpuacct" / LAB / host
    return {int(pid) for file in top.rglob("cgroup.procs") for pid in file.read_text().split()}


def owner(pid):
    """Returns the component that a process belongs to, and the seconds that it and its ended children used."""
    text = pathlib.Path(f"/proc/{pid}/stat").read_text()
    name, fields = text[text.index("(") + 1:text.rindex(")")], text[text.rindex(")") + 2:].split()
    return OWNERS.get(name, "other"), sum(map(int, fields[11:15])) / TICK


def usage(hosts):
    """Returns the total seconds, and those of each running process with its component."""
    running = {}
    for pid in (pid for host in hosts for pid in processes(host)):
        try:
            running[str(pid)] = owner(pid)
        except (FileNotFoundError, ProcessLookupError):
            pass  # it has ended
    return {"all": sum(map(total, hosts)), "running": running}


def main():
    moment, file, hosts = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
    now = {"at": time.monotonic(), **usage(hosts)}
    if moment == "begin":
        file.write_text(json.dumps(now))
        return
    before = json.loads(file.read_text())
    used = {}
    for pid, (name, seconds) in now["running"].items():
        used[name] = used.get(name, 0) + seconds - before["running"].get(pid, ["", 0])[1]
    both = now["all"] - before["all"]
    used["ended before"] = both - sum(used.values())
    busy = both / (now["at"] - before["at"]) / os.cpu_count()
    used = {name: round(seconds, 2) for name, seconds in sorted(used.items(), key=lambda item: -item[1])}
    print(json.dumps({"busy": round(busy, 3), "used": used}))


if __name__ == "__main__":
    main()
