#!/usr/bin/env python3
"""Compares alternately five bare hosts that are set up from one bundle with the same hosts that each have a directory, and writes the part
`bundle` of docs/reference/benchmarks.md: bundle.py BINARY [PAIRS]."""
import datetime
import json
import os
import pathlib
import statistics
import subprocess
import sys

import bench
import report

HERE = pathlib.Path(__file__).resolve().parent
LIMIT = 1.3


def run(mode, binary):
    before = bench.load()
    ended = subprocess.run([HERE / "bundle.sh", mode, binary], capture_output=True, text=True)
    if ended.returncode != 0:
        sys.exit(f"{mode} failed ({ended.returncode}):\n{ended.stdout}\n{ended.stderr[-4000:]}")
    result = {**bench.result(ended.stdout), "load": before}
    result["hosts_cpu"] = sum(result["used"].values())
    print(f"{mode:6}  {result['seconds']:6.2f} s  load before {before:.1f}\n        {report.used(result)}", flush=True)
    return result


def markdown(pairs):
    def of(mode, key):
        return [pair[mode][key] for pair in pairs]

    loads = [run["load"] for pair in pairs for run in pair.values()]
    text = f"""## bundle

Written by `make bench-bundle` on {datetime.date.today().isoformat()}: {bench.machine()}; load before the runs {min(loads):.1f} to {max(loads):.1f}.
Three masters and two workers on hosts with only Debian, without containerd; one `up`, from its start to its end, with all nodes Ready.

- **bundle**: the first master has one bundle; the other hosts have nothing.
- **each**: every host has a directory of artifacts (`artifacts.from: each`).

Both verify each artifact with its digest. Processor time is that of all processes on the five hosts.

| pair | bundle | each | ratio | processor time, bundle | each |
|---|---|---|---|---|---|
"""
    for number, pair in enumerate(pairs, 1):
        bundle, each = pair["bundle"], pair["each"]
        text += (f"| {number} | {bundle['seconds']:.2f} s | {each['seconds']:.2f} s | {bundle['seconds'] / each['seconds']:.2f} "
                 f"| {bundle['hosts_cpu']:.1f} s | {each['hosts_cpu']:.1f} s |\n")
    ratios = [pair["bundle"]["seconds"] / pair["each"]["seconds"] for pair in pairs]
    median = {(mode, key): statistics.median(of(mode, key)) for mode in ("bundle", "each") for key in ("seconds", "hosts_cpu")}
    text += (f"| median | {median['bundle', 'seconds']:.2f} s | {median['each', 'seconds']:.2f} s | {statistics.median(ratios):.2f} "
             f"| {median['bundle', 'hosts_cpu']:.1f} s | {median['each', 'hosts_cpu']:.1f} s |\n")
    text += f"\nThe ratio must be at most {LIMIT}.\n"
    if min(loads) > os.cpu_count():
        text += "The machine also did other work: the seconds are worse than its own, and the ratio of a pair says more.\n"
    return text


def main():
    binary, count = pathlib.Path(sys.argv[1]).resolve(), int((sys.argv[2:] or ["3"])[0])
    pairs = []
    for number in range(count):
        # Every other pair is reversed, because the load may rise or fall.
        order = ["each", "bundle"] if number % 2 else ["bundle", "each"]
        pairs.append({mode: run(mode, binary) for mode in order})
    text = markdown(pairs)
    bench.publish(text)
    ratio = statistics.median(pair["bundle"]["seconds"] / pair["each"]["seconds"] for pair in pairs)
    if ratio > LIMIT:
        sys.exit(f"the bundle takes {ratio:.2f} times as long as directories; {LIMIT} is the limit")


if __name__ == "__main__":
    main()
