#!/usr/bin/env python3
"""Draws how a cluster came up: machines as rows, their steps as bars, waits hatched.

Reads the first master's journal of `nodeinit up` from standard input, which holds the events of all machines:
    journalctl -t nodeinit -o json | timeline.py >timeline.svg
"""

import json
import re
import sys
from html import escape

WIDTH, LEFT, BAR, GAP = 1200, 70, 13, 3
COLOURS = {"etcd": "#b3541e", "image": "#5b7d3a", "api": "#2f6690", "own": "#6b6b6b", "other": "#7a5c99"}


class Bar:
    """One step on one machine, in seconds from the run's start."""

    def __init__(self, host, step, title, start):
        self.host, self.step, self.title, self.start, self.end = host, step, title, start, None

    def is_wait(self):
        return self.title.startswith("wait for")

    def colour(self):
        for kind in ("etcd", "image"):
            if kind in self.step:
                return COLOURS[kind]
        if re.search("kube-|cluster|node|ready|addon", self.step):
            return COLOURS["api"]
        return COLOURS["own"] if re.search("pki|kubeconfig|config|os-|binar", self.step) else COLOURS["other"]


def last_run(lines):
    """The journal's entries of the last run that changed anything: (time, host, step, message, did it end)."""
    entries, runs = [], []
    for line in lines:
        entry = json.loads(line)
        message, step = entry.get("MESSAGE"), entry.get("NODEINIT_STEP")
        if not isinstance(message, str) or not isinstance(step, str):
            continue
        at = int(entry.get("_SOURCE_REALTIME_TIMESTAMP") or entry["__REALTIME_TIMESTAMP"]) / 1e6
        host = entry.get("NODEINIT_HOST", "?")
        entries.append((at, host, step, message))
        if step == "up" and host == entry.get("_HOSTNAME"):
            runs.append(entries)
            entries = []
    runs = [run for run in runs if any(not message.startswith(("done", "every")) for _, _, step, message in run if step != "up")]
    if not runs:
        sys.exit("timeline.py: no run of `nodeinit up` that changed anything stands in the journal")
    return runs[-1]


def bars(entries):
    zero, under_way, ended = entries[0][0], {}, []
    for at, host, step, message in entries:
        done = re.match(r"done after ([0-9.]+) s", message)
        bar = under_way.get((host, step))
        if done and bar:
            bar.end = at - zero
            ended.append(under_way.pop((host, step)))
        elif not done and not bar and step != "up":
            under_way[(host, step)] = Bar(host, step, message, at - zero)
    return [bar for bar in ended if not bar.step.startswith("host-")]


def lanes(own):
    """Puts bars that overlap into lanes of their own."""
    ends, placed = [], []
    for bar in sorted(own, key=lambda b: (b.start, b.end)):
        lane = next((n for n, end in enumerate(ends) if end <= bar.start), len(ends))
        if lane == len(ends):
            ends.append(0)
        ends[lane] = max(bar.end, bar.start + 0.01)
        placed.append((lane, bar))
    return placed, len(ends)


def draw(all_bars):
    length = max(bar.end for bar in all_bars)
    scale = (WIDTH - LEFT - 20) / length
    out, y = [], 34
    for host in dict.fromkeys(bar.host for bar in all_bars):
        placed, count = lanes([bar for bar in all_bars if bar.host == host])
        out.append(f'<text x="8" y="{y + 11}" font-weight="bold">{escape(host)}</text>')
        for lane, bar in placed:
            x, top = LEFT + bar.start * scale, y + lane * (BAR + GAP)
            width = max(1.5, (bar.end - bar.start) * scale)
            look = f'fill="url(#wait)" stroke="{bar.colour()}"' if bar.is_wait() else f'fill="{bar.colour()}"'
            tip = f"{bar.step}: {bar.title}, {bar.start:.2f} s to {bar.end:.2f} s"
            out.append(f'<g><title>{escape(tip)}</title><rect x="{x:.1f}" y="{top}" width="{width:.1f}" height="{BAR}" rx="2" {look}/>')
            if width > 6.2 * len(bar.step) + 8:
                ink = "#222" if bar.is_wait() else "#fff"
                out.append(f'<text x="{x + 4:.1f}" y="{top + 10}" fill="{ink}">{escape(bar.step)}</text>')
            out.append("</g>")
        y += count * (BAR + GAP) + 12
    step = next(s for s in (1, 2, 5, 10, 20, 60, 300) if length / s <= 24)
    ticks = [n * step for n in range(int(length / step) + 1)]
    grid = [f'<path d="M{LEFT + t * scale:.1f} 26V{y - 6}" stroke="#ddd"/><text x="{LEFT + t * scale:.1f}" y="20" text-anchor="middle">{t} s</text>' for t in ticks]
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" font-family="monospace" font-size="10">'
        '<defs><pattern id="wait" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        '<rect width="5" height="5" fill="#f4f1ea"/><path d="M0 0V5" stroke="#b9b2a3" stroke-width="2"/></pattern></defs>'
        f'<rect width="{WIDTH}" height="{y}" fill="#fff"/>'
    )
    return head + "".join(grid) + "\n" + "\n".join(out) + "\n</svg>\n"


if __name__ == "__main__":
    sys.stdout.write(draw(bars(last_run(sys.stdin))))
