"""Formats the results of the benchmark as text, Markdown and a chart."""
import statistics

COLOURS = {"limit": "#8a8f98", "kubeadm": "#c2703d", "nodeinit": "#2f7d5d"}


def of(runs, tool, mode):
    return [r for r in runs if (r["tool"], r["mode"]) == (tool, mode)]


def line(r):
    """Formats one run while the benchmark is running."""
    text = f"round {r['round']}  {r['tool']:8}  {r['mode']:8}  {r['seconds']:7.2f} s  restarts {r['restarts']}  load before {r['load']:.1f}"
    if r.get("restarted"):
        text += f" ({', '.join(r['restarted'])})"
    if r.get("available") is not None:
        text += f"  pods available {r['available']:.2f} s"
    if r.get("up") is not None:
        text += f"  `up` ended {r['up']:.2f} s"
    if r.get("cpu") is not None:
        text += f"  own processor time {r['cpu']:.2f} s, memory {r['memory'] / 1e6:.1f} MB"
    return text + (f"\n          {used(r)}" if "used" in r else "")


def used(r):
    """Describes how busy the processors were in a run, and which programs used them."""
    whom = ", ".join(f"{name} {seconds:.1f}" for name, seconds in r["used"].items() if seconds >= 0.1)
    return f"processors {r['busy']:.0%} busy, {sum(r['used'].values()):.1f} s: {whom}"


def ratios(runs, mode):
    pairs = zip(of(runs, "kubeadm", mode), of(runs, "nodeinit", mode))
    return [theirs["seconds"] / ours["seconds"] for theirs, ours in pairs]


def markdown(runs, plan, facts):
    loads = [r["load"] for r in runs]
    idlest, busiest = min(loads), max(loads)
    text = f"""# Benchmarks

Written by `make bench` on {facts['date']}: {facts['machine']}; load before the runs {idlest:.1f} to {busiest:.1f}.
Every run has freshly made hosts of [the lab](../../tests/lab/README.md), systemd-nspawn containers with Debian 12 on this machine; tools alternate, {facts['rounds']} rounds. Kubernetes and etcd are the same programs and images for all.

![seconds, median of each mode](benchmarks.svg)

| mode | tool | minimum | median | maximum | container restarts |
|---|---|---|---|---|---|
"""
    for tool, mode in plan:
        seconds = [r["seconds"] for r in of(runs, tool, mode)]
        restarts = ", ".join(str(r["restarts"]) for r in of(runs, tool, mode))
        text += f"| {mode} | {tool} | {min(seconds):.2f} s | {statistics.median(seconds):.2f} s | {max(seconds):.2f} s | {restarts} |\n"
    # A run raises the load before the next one; only other work keeps it high.
    if idlest > facts["processors"]:
        text += "\nThe machine also did other work: the seconds are worse than its own, and ratios within a round say more.\n"
    text += "\nkubeadm's time divided by nodeinit's time, for each round: " + "; ".join(
        f"{mode} {', '.join(f'{r:.2f}' for r in ratios(runs, mode))}" for tool, mode in plan if tool == "nodeinit") + ".\n"
    text += f"""
- **idle**: `kubeadm init` and `nodeinit up`, everything installed and images imported before, addons off for both.
- **small**: as idle, with the host's cgroup limited to half a core.
- **busy**: as idle, with `dd conv=fsync` writing on the host's disk all the time.
- **fresh**: from a booted host with only containerd and files at hand to the node Ready with network, kube-proxy and CoreDNS available; for kubeadm
  a script around it (`tests/bench/kubeadm-on-host.sh`), for nodeinit one `up`.
- **ha**: three masters and two workers to all five nodes Ready, everything installed and images imported on all hosts before. For kubeadm the script
  `tests/bench/ha-kubeadm.sh`: `init`, network, masters one after the other, because etcd requires it, workers all at the same time; for nodeinit one `up`.
- **ha-fresh**: the same from five booted hosts with only containerd and files at hand, which get their programs and images all at once.
- **limit**: etcd and the API server started by hand on such a host from ready-made files, to `/readyz`; no kubelet, no containers.

"""
    own = [r for r in runs if r.get("cpu") is not None]
    text += whole_clusters(runs, plan)
    if own:
        alone = [r for r in own if "backoffs" in r]
        waited = sum(r["backoffs"] for r in alone)
        text += f"""nodeinit itself, over all its runs: processor time {min(r['cpu'] for r in own):.2f} to {max(r['cpu'] for r in own):.2f} s
(with the programs that it runs, on one host, {min(r['cpu_with_programs'] for r in alone):.2f} to {max(r['cpu_with_programs'] for r in alone):.2f} s), peak memory {max(r['memory'] for r in own) / 1e6:.1f} MB, restart back-offs
seen {waited}. The binary is {facts['size'] / 1e6:.2f} MB, or {facts['packed'] / 1e6:.2f} MB compressed with xz.

"""
        text += processors(runs, plan)
        for mode in ("idle", "fresh", "ha", "ha-fresh"):
            text += critical_path(of(own, "nodeinit", mode), mode)
    return text


def whole_clusters(runs, plan):
    """Compares the time to Ready nodes with that to working pods: medians of both, for the runs with several hosts."""
    text = "| mode | tool | all nodes Ready | the addons' pods available | `up` ended |\n|---|---|---|---|---|\n"
    for tool, mode in plan:
        several = [r for r in of(runs, tool, mode) if "available" in r]
        if several:
            middle = [statistics.median(r[key] for r in several) if key in several[0] else None for key in ("seconds", "available", "up")]
            text += f"| {mode} | {tool} | " + " | ".join("" if m is None else f"{m:.2f} s" for m in middle) + " |\n"
    return text + "\n"


def processors(runs, plan):
    """Lists the processor time of each program: medians, in seconds of all hosts."""
    columns = [pair for pair in plan if pair[1] in ("idle", "fresh", "ha", "ha-fresh")]
    names = sorted({name for r in runs for name in r.get("used", {})}, key=lambda name: -max(r.get("used", {}).get(name, 0) for r in runs))

    def row(title, cell):
        return f"| {title} | " + " | ".join(cell([r for r in of(runs, *pair) if "used" in r]) for pair in columns) + " |\n"

    text = """## What used the processors

Medians of each, in seconds of processor time on all hosts. `commands over SSH` are nodeinit or kubeadm, what they run, and the benchmark's kubectl;
`ended before` are containers and commands that were gone at the end. `busy` is the hosts' processor time divided by the elapsed time and the number of processors.

"""
    text += "| used by | " + " | ".join(f"{mode}, {tool}" for tool, mode in columns) + " |\n"
    text += "|---" * (len(columns) + 1) + "|\n"
    for name in names:
        text += row(name, lambda rs, name=name: f"{statistics.median(r['used'].get(name, 0) for r in rs):.1f}")
    text += row("all", lambda rs: f"{statistics.median(sum(r['used'].values()) for r in rs):.1f}")
    text += row("busy", lambda rs: f"{statistics.median(r['busy'] for r in rs):.0%}")
    return text + "\n"


def critical_path(runs, mode):
    middle = sorted(runs, key=lambda r: r["seconds"])[len(runs) // 2]
    text = f"## Critical path of nodeinit, {mode} ({middle['seconds']:.2f} s)\n\n| from | takes | step |\n|---|---|---|\n"
    for part in middle["critical_path"]:
        text += f"| {part['start']:.2f} s | {part['seconds']:.2f} s | {part['step']} |\n"
    return text + "\n"


def chart(runs, plan):
    """Draws horizontal bars of the median, with a thin line from minimum to maximum."""
    left, right, height, gap = 170, 70, 22, 8
    longest = max(r["seconds"] for r in runs)
    scale = (900 - left - right) / longest
    y, body, last = 34, "", None
    for tool, mode in plan:
        seconds = [r["seconds"] for r in of(runs, tool, mode)]
        middle = statistics.median(seconds)
        if mode != last:
            y += gap
            body += f'<text x="{left - 90}" y="{y + 15}" text-anchor="end">{mode}</text>\n'
            last = mode
        low, high = left + min(seconds) * scale, left + max(seconds) * scale
        body += f'<text x="{left - 10}" y="{y + 15}" text-anchor="end" fill="{COLOURS[tool]}">{tool}</text>\n'
        body += f'<rect x="{left}" y="{y}" width="{middle * scale:.1f}" height="{height - 4}" fill="{COLOURS[tool]}" rx="2"/>\n'
        body += f'<path d="M{low:.1f} {y + 9}H{high:.1f}" stroke="#222" stroke-width="1.5"/>\n'
        body += f'<text x="{max(high, left + middle * scale) + 8:.1f}" y="{y + 14}">{middle:.1f} s</text>\n'
        y += height
    return (f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 900 {y + 12}" font-family="sans-serif" font-size="13">\n'
            f'<rect width="900" height="{y + 12}" fill="#fff"/>\n<text x="16" y="24" font-size="15">'
            f'Seconds to a first master (ha: to three masters and two workers): medians, and from the fastest run to the slowest</text>\n{body}</svg>\n')
