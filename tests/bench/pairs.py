#!/usr/bin/env python3
"""Compares this checkout's nodeinit with that of an earlier commit, run alternately: pairs.py COMMIT [PAIRS [MODE...]].

For each mode it prints the median of the ratios after/before and an interval that holds the true median with a probability of at
least 90 % (by the ranks of the ratios, without an assumption about their distribution)."""
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

from bench import result

ROOT = pathlib.Path(__file__).resolve().parents[2]
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")).resolve()
MODES = ["idle", "ha", "join"]
CONFIDENCE = 0.9


def built(checkout, target):
    """Builds the programs that the modes need from a checkout. Each program is timed with the scripts of the same checkout."""
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target)}
    for what in (["--release", "-p", "nodeinit"], ["-p", "nodeinit-tests", "--features", "join", "--bin", "join"]):
        subprocess.run(["cargo", "build", "--locked", *what], cwd=checkout, env=environment, check=True)
    of = target / "x86_64-unknown-linux-gnu"
    return checkout / "tests/bench", of / "release/nodeinit", of / "debug/join"


def seconds(mode, bench, nodeinit, join):
    command = {"join": ["join.sh", join, nodeinit], "ha": ["ha-nodeinit.sh", "ha", nodeinit]}.get(mode, ["nodeinit-run.sh", mode, nodeinit])
    ended = subprocess.run([bench / command[0], *command[1:]], capture_output=True, text=True)
    found = re.findall(r"last after ([0-9.]+) s", ended.stdout) if mode == "join" else [result(ended.stdout).get("seconds")]
    if ended.returncode != 0 or not any(found):
        sys.exit(f"{mode} failed ({ended.returncode}):\n{ended.stdout}\n{ended.stderr[-4000:]}")
    return float(found[-1])


def interval(ratios):
    """Returns the narrowest pair of ranks, symmetric from both ends, with the confidence: a sign test."""
    ratios, count = sorted(ratios), len(ratios)
    outside = 0
    rank = 0
    while rank < count // 2:
        outside += 2 * math.comb(count, rank) / 2**count
        if 1 - outside < CONFIDENCE:
            break
        rank += 1
    if rank == 0:
        sys.exit(f"{count} pairs are too few for an interval of {CONFIDENCE:.0%}")
    return ratios[rank - 1], ratios[-rank]


def main():
    commit, pairs, modes = sys.argv[1], int((sys.argv[2:] or ["7"])[0]), sys.argv[3:] or MODES
    before = TARGET / f"before-{commit}"
    if not before.exists():
        subprocess.run(["git", "worktree", "add", "--detach", before, commit], cwd=ROOT, check=True)
    sides = {"before": built(before, before / "target"), "after": built(ROOT, TARGET)}
    subprocess.run([ROOT / "tests/lab/prepare.sh"], check=True, stdout=subprocess.DEVNULL)
    for mode in modes:
        ratios = []
        for number in range(pairs):
            # Every other pair is reversed, because the load may rise or fall.
            order = ["before", "after"] if number % 2 else ["after", "before"]
            taken = {side: seconds(mode, *sides[side]) for side in order}
            ratios.append(taken["after"] / taken["before"])
            print(f"{mode}: before {taken['before']:.2f} s, after {taken['after']:.2f} s, ratio {ratios[-1]:.3f}", flush=True)
        low, high = interval(ratios)
        print(f"{mode}: the median ratio is {statistics.median(ratios):.3f}, between {low:.3f} and {high:.3f}", flush=True)
    subprocess.run(["git", "worktree", "remove", "--force", before], cwd=ROOT, check=True)


if __name__ == "__main__":
    main()
