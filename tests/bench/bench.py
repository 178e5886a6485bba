#!/usr/bin/env python3
"""Times nodeinit and stock kubeadm on freshly made hosts, alternately, and writes docs/reference/benchmarks.md: bench.py BINARY [ROUNDS]."""
import datetime
import json
import lzma
import os
import pathlib
import platform
import re
import statistics
import subprocess
import sys

import report

HERE = pathlib.Path(__file__).resolve().parent
DOCS = HERE.parent.parent / "docs"
PAGE = DOCS / "reference/benchmarks.md"
# The parts of the page in order; each benchmark writes its own.
PARTS = ["# Benchmarks", "## bundle", "## upgrade"]
# The runs of each round, in this order; every other round reverses each pair, because the load may rise or fall.
PLAN = [("limit", "limit"), ("kubeadm", "idle"), ("nodeinit", "idle"), ("kubeadm", "small"), ("nodeinit", "small"),
        ("kubeadm", "busy"), ("nodeinit", "busy"), ("kubeadm", "fresh"), ("nodeinit", "fresh"),
        ("kubeadm", "ha"), ("nodeinit", "ha"), ("kubeadm", "ha-fresh"), ("nodeinit", "ha-fresh")]


def order(number):
    if number % 2:
        return PLAN
    return [PLAN[0]] + [pair for mode in range(1, len(PLAN), 2) for pair in reversed(PLAN[mode:mode + 2])]


def load():
    return os.getloadavg()[0]


def result(output):
    """Merges the JSON lines of a script into one object."""
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return {key: value for line in lines for key, value in line.items()}


def run(tool, mode, binary):
    """Makes one run on new hosts; returns the output of its script with the machine's load before it."""
    kubeadm, nodeinit = ("ha-kubeadm.sh", "ha-nodeinit.sh") if mode.startswith("ha") else ("kubeadm-baseline.sh", "nodeinit-run.sh")
    script = {"limit": ["limit.sh"], "kubeadm": [kubeadm, mode], "nodeinit": [nodeinit, mode, binary]}[tool]
    before = load()
    ended = subprocess.run([HERE / script[0], *script[1:]], capture_output=True, text=True)
    if ended.returncode != 0 or "seconds" not in result(ended.stdout):
        sys.exit(f"{tool} {mode} failed ({ended.returncode}):\n{ended.stdout}\n{ended.stderr[-4000:]}")
    return {**result(ended.stdout), "load": before}


def machine():
    processor = next((line.split(":")[1].strip() for line in open("/proc/cpuinfo") if line.startswith("model name")), platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    return f"{os.cpu_count()} processors ({processor}), {memory:.0f} GB of memory, Linux {platform.release()}"


def publish(text):
    """Replaces the part of the page that starts with the same heading as the text."""
    former = re.split(rf"^(?=(?:{'|'.join(PARTS)})$)", PAGE.read_text() if PAGE.exists() else "", flags=re.MULTILINE)
    parts = {part.partition("\n")[0]: part.strip() + "\n" for part in [*former, text]}
    PAGE.write_text("\n".join(parts[heading] for heading in PARTS if heading in parts))
    print("\n" + text)


def main():
    binary = pathlib.Path(sys.argv[1]).resolve()
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else int(os.environ.get("BENCH_ROUNDS", "3"))
    subprocess.run([HERE.parent / "lab/prepare.sh"], check=True, stdout=subprocess.DEVNULL)
    size, packed = binary.stat().st_size, len(lzma.compress(binary.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    print(f"{machine()}; load {load():.1f}; nodeinit {size / 1e6:.2f} MB, as xz {packed / 1e6:.2f} MB", flush=True)
    runs = []
    for number in range(1, rounds + 1):
        for tool, mode in order(number):
            runs.append({**run(tool, mode, binary), "round": number})
            print(report.line(runs[-1]), flush=True)

    facts = {"processors": os.cpu_count(), "machine": machine(), "date": datetime.date.today().isoformat(), "rounds": rounds, "size": size, "packed": packed}
    (DOCS / "reference/benchmarks.svg").write_text(report.chart(runs, PLAN))
    publish(report.markdown(runs, PLAN, facts))
    median = {pair: statistics.median(r["seconds"] for r in runs if (r["tool"], r["mode"]) == pair) for pair in PLAN}
    print(f"nodeinit/limit: {median['nodeinit', 'idle'] / median['limit', 'limit']:.1f}")
    for mode in ("idle", "fresh", "small", "ha", "ha-fresh"):
        print(f"{mode} kubeadm/nodeinit: {median['kubeadm', mode] / median['nodeinit', mode]:.1f}")


if __name__ == "__main__":
    main()
