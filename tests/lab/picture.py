#!/usr/bin/env python3
"""Draws terminal output as SVG: picture.py TITLE < LOG > SVG. Supports bold, the eight colours and carriage returns."""
import html
import re
import sys

COLOURS = {"31": "#ff7b72", "32": "#7ee787", "33": "#e3b341", "34": "#79c0ff", "35": "#d2a8ff", "36": "#56d4dd"}
WIDTH, LINE, CHARACTER, TOP = 150, 16, 7.25, 44


def spans(line):
    """Returns the parts of a line with their style, cut at WIDTH characters."""
    style, left, parts = "", WIDTH, []
    for text, code in re.findall(r"([^\x1b]*)(?:\x1b\[([0-9;]*)m)?", line):
        text = text[:left]
        left -= len(text)
        if text:
            parts.append(f"<tspan{style}>{html.escape(text)}</tspan>")
        if code:
            style = next((f' fill="{COLOURS[c]}"' for c in code.split(";") if c in COLOURS), ' font-weight="bold"' if code == "1" else "")
    return "".join(parts)


def scrolled(text):
    """Returns the text after applying `n lines up, then erase`, with which live lines are redrawn."""
    parts = re.split(r"\x1b\[(\d+)A\x1b\[J", text)
    shown = parts[0]
    for up, rest in zip(parts[1::2], parts[2::2]):
        shown = "\n".join(shown.split("\n")[: -int(up) - 1] + [rest])
    return shown


def main():
    text = sys.stdin.read().replace("\r\n", "\n")
    text = re.sub(r"\x1b\[[0-9;?]*[A-LN-Za-ln-z]", "", scrolled(text))  # all except colours
    lines = [line.rstrip("\r").split("\r")[-1] for line in text.rstrip("\n").split("\n")]
    width, height = WIDTH * CHARACTER + 32, TOP + len(lines) * LINE + 12
    print(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" font-family="ui-monospace, \'DejaVu Sans Mono\', monospace"'
          f' font-size="12" fill="#e6edf3">\n<rect width="100%" height="100%" rx="8" fill="#0d1117"/>')
    print("".join(f'<circle cx="{20 + 18 * i}" cy="18" r="5.5" fill="{c}"/>' for i, c in enumerate(("#ff5f57", "#febc2e", "#28c840"))))
    print(f'<text x="{width / 2:.0f}" y="22" text-anchor="middle" fill="#8b949e">{html.escape(sys.argv[1])}</text>')
    for number, line in enumerate(lines):
        print(f'<text x="16" y="{TOP + number * LINE}" xml:space="preserve">{spans(line)}</text>')
    print("</svg>")


if __name__ == "__main__":
    main()
