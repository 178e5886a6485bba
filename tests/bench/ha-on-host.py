"""Watches from the first master and prints one JSON line with the seconds to all nodes Ready and to all addons' pods available:
ha-on-host.py NODES START [COMMAND...]. START: microseconds since 1970, of the clock that all hosts of the lab share; COMMAND: what makes the
cluster, where it runs on this host, with its events as JSON on its output."""
import json
import pathlib
import socket
import subprocess
import sys
import time

CONFIG = "/etc/kubernetes/admin.conf"
KUBECTL = ["/opt/lab/bin/kubectl", "--kubeconfig", CONFIG]
READY = 'custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status'
AVAILABLE = [["kube-flannel", "daemonset/kube-flannel-ds"], ["kube-system", "daemonset/kube-proxy"], ["kube-system", "deployment/coredns"]]
DEADLINE = 900
EVENTS = pathlib.Path("/root/events.jsonl")


def kubectl(*arguments):
    return subprocess.run([*KUBECTL, *arguments], capture_output=True, text=True)


def listens(port):
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def all_ready(count):
    """Watches the nodes once until COUNT are Ready; returns False if the watch ended before."""
    watch = subprocess.Popen([*KUBECTL, "get", "nodes", "--watch", "--no-headers", "-o", READY], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    ready = {}
    try:
        for line in watch.stdout:
            name, state = line.split()
            ready[name] = state == "True"
            if sum(ready.values()) == count:
                return True
        return False
    finally:
        watch.kill()
        watch.wait()


def main():
    count, start, command = int(sys.argv[1]), int(sys.argv[2]) / 1e6, sys.argv[3:]
    run = subprocess.Popen(command, stdout=EVENTS.open("w")) if command else None

    def since():
        return round(time.time() - start, 3)

    def ended_well():
        if run and run.wait() != 0:
            sys.exit(f"{' '.join(command)} ended with {run.returncode}\n{EVENTS.read_text()[-4000:]}")
        return since()

    def wait_for(what, look, pause=0.3):
        while not look():
            if run and run.poll():
                ended_well()
            if since() > DEADLINE:
                sys.exit(f"not after {DEADLINE} s: {what}")
            # Each poll starts kubectl, which costs 0.2 s of processor time.
            time.sleep(pause)
        return since()

    wait_for("an API server", lambda: listens(6443) and pathlib.Path(CONFIG).exists() and kubectl("get", "--raw", "/readyz").returncode == 0, 2)
    result = {"seconds": wait_for("all nodes Ready", lambda: all_ready(count))}
    if run:
        result["up"] = ended_well()
        events = [json.loads(line) for line in EVENTS.read_text().splitlines() if line.startswith("{")]
        summary = next((event for event in reversed(events) if event.get("event") == "summary"), {})
        result.update(cpu=summary.get("cpu_seconds"), memory=summary.get("peak_memory_bytes"), critical_path=summary.get("critical_path", []))
    for namespace, what in AVAILABLE:
        result["available"] = wait_for(what, lambda: kubectl("-n", namespace, "rollout", "status", what, "--timeout=300s").returncode == 0)
    pods = kubectl("get", "pods", "-A", "-o", 'jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[*].restartCount}{"\\n"}{end}').stdout
    restarts = {pod: sum(map(int, counts)) for pod, *counts in map(str.split, pods.splitlines())}
    restarted = [pod for pod, count in restarts.items() if count]
    print(json.dumps({**result, "restarts": sum(restarts.values()), "restarted": restarted}))


if __name__ == "__main__":
    main()
