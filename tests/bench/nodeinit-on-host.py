"""Runs `nodeinit up` on this host and prints one JSON line about it: nodeinit-on-host.py MODE CONFIG..."""
import json
import resource
import subprocess
import sys
import time

KUBECTL = ["kubectl", "--kubeconfig", "/etc/kubernetes/admin.conf"]
AVAILABLE = [["kube-flannel", "daemonset/kube-flannel-ds"], ["kube-system", "daemonset/kube-proxy"], ["kube-system", "deployment/coredns"]]


def kubectl(*arguments):
    return subprocess.run([*KUBECTL, *arguments], capture_output=True, text=True).stdout


def main():
    mode, configs = sys.argv[1], sys.argv[2:]
    command = ["nodeinit", "up", "--output", "json", *(word for file in configs for word in ("--config", file))]
    start = time.monotonic()
    run = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    seconds = time.monotonic() - start
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    if run.returncode != 0:
        sys.exit(f"nodeinit ended with {run.returncode}\n{run.stdout}")
    events = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    summary = next((event for event in reversed(events) if event.get("event") == "summary"), {})
    if mode == "fresh":  # `up` has waited for everything
        for namespace, what in AVAILABLE:
            subprocess.run([*KUBECTL, "-n", namespace, "rollout", "status", what, "--timeout=1s"], check=True, stdout=sys.stderr)
    for _ in range(50):  # the mirror pods of the control plane appear shortly after it answers
        if len(kubectl("get", "pods", "-A", "--no-headers").splitlines()) >= 4:
            break
        time.sleep(0.2)
    restarts = kubectl("get", "pods", "-A", "-o", "jsonpath={.items[*].status.containerStatuses[*].restartCount}")
    backoffs = subprocess.run("journalctl -u kubelet --no-pager | grep -c CrashLoopBackOff", shell=True, capture_output=True, text=True).stdout
    print(json.dumps({
        "tool": "nodeinit", "mode": mode, "seconds": round(seconds, 3), "restarts": sum(map(int, restarts.split())), "backoffs": int(backoffs),
        "cpu": summary.get("cpu_seconds"), "cpu_with_programs": round(used.ru_utime + used.ru_stime, 3),
        "memory": summary.get("peak_memory_bytes"), "critical_path": summary.get("critical_path", []),
    }))


if __name__ == "__main__":
    main()
