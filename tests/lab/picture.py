#!/usr/bin/env python3
"""Draws what the demo showed on a terminal as SVG, shortened: picture.py TITLE < LOG > SVG.
Knows bold, the eight colours and carriage returns. The picture has the sections (`==> …`) except for the last, which is for the
reader of the terminal. It is cut to LINES lines: of the longest sections, lines in the middle are left out and counted."""
import html
import re
import sys

COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd"}
WIDTH, LINES, LINE, CHARACTER, TOP = 100, 25, 16, 7.25, 44
STYLE = re.compile(r"\x1b\[[0-9;]*m")


def spans(line):
    """The parts of a line with their style."""
    style, parts = "", []
    for text, code in re.findall(r"([^\x1b]*)(?:\x1b\[([0-9;]*)m)?", line):
        if text:
            parts.append(f"<tspan{style}>{html.escape(text)}</tspan>")
        if code:
            style = next((f' fill="{COLOURS[c]}"' for c in code.split(";") if c in COLOURS), ' font-weight="bold"' if code == "1" else "")
    return "".join(parts)


def scrolled(text):
    """What is left after `n lines up, and erase from there`, with which live lines are drawn again."""
    parts = re.split(r"\x1b\[(\d+)A\x1b\[J", text)
    shown = parts[0]
    for up, rest in zip(parts[1::2], parts[2::2]):
        shown = "\n".join(shown.split("\n")[: -int(up) - 1] + [rest])
    return shown


def sections(lines):
    """The lines of each section, without empty ones, without what is before the first, and without the last section."""
    found = []
    for line in lines:
        plain = STYLE.sub("", line)
        if plain.startswith("==> "):
            found.append([])
        if found and plain.strip():
            found[-1].append(line)
    return found[:-1]


def cut(section, limit):
    """A section in at most `limit` lines: its title, two lines that are no remarks, how many are left out, and its end."""
    if len(section) <= limit:
        return section
    tail = section[4 - limit:]
    while re.match(r" +[\d.]+s +[\d.]+ s  ", tail[0]):  # a part of the critical path, without its title
        tail = tail[1:]
    head = [line for line in section[1:-len(tail)] if not re.search(r"s  · ", STYLE.sub("", line))][:2]
    left = len(section) - 1 - len(head) - len(tail)
    return [section[0], *head, f"          ⋮ {left} more lines", *tail]


def shortened(parts):
    """The sections in at most LINES lines: the limit of each is as high as possible."""
    for limit in range(max(map(len, parts)), 5, -1):
        if sum(min(len(part), limit) for part in parts) <= LINES:
            return [line for part in parts for line in cut(part, limit)]
    sys.exit(f"the sections do not fit into {LINES} lines")


def main():
    text = sys.stdin.read().replace("\r\n", "\n")
    text = re.sub(r"\x1b\[[0-9;?]*[A-LN-Za-ln-z]", "", scrolled(text))  # all except colours
    lines = shortened(sections(line.rstrip("\r").split("\r")[-1] for line in text.rstrip("\n").split("\n")))
    for line in lines:
        if len(STYLE.sub("", line)) > WIDTH:
            sys.exit(f"longer than {WIDTH} characters: {line}")
    width, height = WIDTH * CHARACTER + 32, TOP + len(lines) * LINE + 12
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, \'DejaVu Sans Mono\', monospace"'
          f' font-size="12" fill="#e6edf3">\n<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
    print("".join(f'<circle cx="{20 + 18 * i}" cy="18" r="5.5" fill="{c}"/>' for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))))
    print(f'<text x="{width / 2:.0f}" y="22" text-anchor="middle" fill="#8b949e">{html.escape(sys.argv[1])}</text>')
    for number, line in enumerate(lines):
        print(f'<text x="16" y="{TOP + number * LINE}" xml:space="preserve">{spans(line)}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
