#!/usr/bin/env python3
"""Upgrades clusters alternately with kubeadm and with nodeinit, under load, and writes the part `upgrade` of docs/reference/benchmarks.md:
upgrade.py BINARY [ROUNDS]; from LAB_VERSION to LAB_NEXT."""
import datetime
import os
import pathlib
import statistics
import subprocess
import sys

import bench

TOOLS = ["kubeadm", "nodeinit"]
ENDPOINTS = ["balancer", "virtual-ip"]
FROM, TO = os.environ["LAB_VERSION"], os.environ["LAB_NEXT"]


def requests(r):
    return f"{r['all']} | {r['failed']} | {r['twice']}"


def cells(r):
    return f"{r['seconds']:.1f} s | {requests(r['api'])} | {requests(r['workload'])} | {r['etcd']['median'] * 1000:.0f} ms | {r['etcd']['longest']:.2f} s"


def run(tool, endpoint, binary):
    before = bench.load()
    ended = subprocess.run([bench.HERE / "upgrade.sh", tool, binary, endpoint], capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{tool}, {endpoint}, failed ({ended.returncode}):\n{ended.stdout}\n{ended.stderr[-8000:]}")
    result = {**bench.result(ended.stdout), "load": before}
    print(f"{tool:8}  {endpoint:10}  {cells(result)}  load before {before:.1f}", flush=True)
    return result


def markdown(rounds):
    loads = [r["load"] for runs in rounds for r in runs.values()]
    ratios = {endpoint: ", ".join(f"{runs['kubeadm', endpoint]['seconds'] / runs['nodeinit', endpoint]['seconds']:.2f}" for runs in rounds) for endpoint in ENDPOINTS}
    text = f"""## upgrade

Written by `make bench-upgrade` on {datetime.date.today().isoformat()}: {bench.machine()}; load before the runs {min(loads):.1f} to {max(loads):.1f}.
Three masters and two workers, upgraded from Kubernetes {FROM} to {TO}, one machine after the other; each tool creates and upgrades its own cluster;
tools alternate; rounds: {len(rounds)}. The images of {TO} are in containerd on all hosts before, and its programs in a directory there.

| round | endpoint | tool | time | requests to the API | failed | also after 1 s | requests to the workload | failed | also after 1 s | put to etcd, median | longest |
|---|---|---|---|---|---|---|---|---|---|---|---|
"""
    for number, runs in enumerate(rounds, 1):
        for endpoint in ENDPOINTS:
            for tool in TOOLS:
                text += f"| {number} | {endpoint} | {tool} | {cells(runs[tool, endpoint])} |\n"
    text += f"""
kubeadm's time divided by nodeinit's time, for each round: balancer {ratios['balancer']}; virtual-ip {ratios['virtual-ip']}.

- **time**: to all nodes Ready with {TO} and the addons' pods available. For nodeinit one `upgrade apply`, with its snapshot of etcd; for kubeadm the script
  `tests/bench/upgrade.sh`: `kubeadm upgrade apply` or `node`, drain, the new kubelet, uncordon as soon as the node is Ready.
- **endpoint**: `balancer` is HAProxy, which checks `/readyz` of each API server every second; `virtual-ip` is an address that kube-vip moves between the
  masters. For kubeadm, kube-vip is a static pod as its documentation describes.
- **requests to the API**: 20 per second to the endpoint. Each one is on a new connection
  and reads a namespace, which the API server reads from etcd. It fails if there is no answer with status 200 within 5 s; then it is repeated once after 1 s.
- **requests to the workload**: 20 per second to a Service, in the same way. It has four replicas, of which a PodDisruptionBudget keeps three. Pods continue to
  serve for 5 s after they are evicted.
- **put to etcd**: a key is written every 100 ms, over one connection to one member. When that member does not answer within 1 s or closes the connection, the
  next member is tried; the time is that until a member acknowledges the write.

All requests come from a worker, and begin 10 s before the upgrade and end 10 s after it.
"""
    if min(loads) > os.cpu_count():
        text += "The machine also did other work: the seconds are worse than its own, and the ratio of a round says more.\n"
    return text


def main():
    binary, count = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or [os.environ.get("BENCH_ROUNDS", "3")])[0])
    rounds = []
    for number in range(count):
        # Every other round is reversed, because the load may rise or fall.
        tools = TOOLS[::-1] if number % 2 else TOOLS
        rounds.append({(tool, endpoint): run(tool, endpoint, binary) for endpoint in ENDPOINTS for tool in tools})
    bench.publish(markdown(rounds))
    median = {tool: statistics.median(runs[tool, "balancer"]["seconds"] for runs in rounds) for tool in TOOLS}
    print(f"upgrade kubeadm/nodeinit: {median['kubeadm'] / median['nodeinit']:.1f}")
    upgrades = [runs["nodeinit", endpoint] for runs in rounds for endpoint in ENDPOINTS]
    workload, api = sum(r["workload"]["failed"] for r in upgrades), sum(r["api"]["twice"] for r in upgrades)
    print(f"upgrade failed requests: {workload}")
    if workload or api:
        sys.exit(f"with nodeinit, {workload} requests to the workload failed, and {api} to the API failed also after 1 s")


if __name__ == "__main__":
    main()
