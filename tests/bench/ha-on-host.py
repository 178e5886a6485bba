"""Watches from the first master and prints one JSON line with the seconds to all nodes Ready and to all addons' pods available:
ha-on-host.py NODES START (microseconds since 1970, of the clock that all hosts of the lab share)."""
import json
import pathlib
import subprocess
import sys
import time

CONFIG = "/etc/kubernetes/admin.conf"
KUBECTL = ["/opt/lab/bin/kubectl", "--kubeconfig", CONFIG]
READY = 'custom-columns=NAME:.metadata.name,READY:.status.conditions[?(@.type=="Ready")].status'
AVAILABLE = [["kube-flannel", "daemonset/kube-flannel-ds"], ["kube-system", "daemonset/kube-proxy"], ["kube-system", "deployment/coredns"]]
DEADLINE = 900


def kubectl(*arguments):
    return subprocess.run([*KUBECTL, *arguments], capture_output=True, text=True)


def all_ready(count):
    """One watch of the nodes, until COUNT are Ready; False when it ended before."""
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
    count, start = int(sys.argv[1]), int(sys.argv[2]) / 1e6

    def wait_for(what, look):
        while not look():
            if time.time() - start > DEADLINE:
                sys.exit(f"not after {DEADLINE} s: {what}")
            time.sleep(0.3)
        return round(time.time() - start, 3)

    wait_for("an API server", lambda: pathlib.Path(CONFIG).exists() and kubectl("get", "--raw", "/readyz").returncode == 0)
    seconds = wait_for("all nodes Ready", lambda: all_ready(count))
    for namespace, what in AVAILABLE:
        available = wait_for(what, lambda: kubectl("-n", namespace, "rollout", "status", what, "--timeout=300s").returncode == 0)
    pods = kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}").stdout
    print(json.dumps({"seconds": seconds, "available": available, "restarts": sum(map(int, pods.split()))}))


if __name__ == "__main__":
    main()
