#!/usr/bin/env python3
"""Fails where a link in a page leads to no file or no heading of this repository: links.py. Links to other sites are not tried."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The beginnings of generated pages. Their links are relative to docs/, and are checked there.
SOURCES = {"nodeinit/config/tests/releases.md", "nodeinit/tests/cli.md"}
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ (.*)")


def headings(page):
    """The anchors that GitHub gives the headings of a page."""
    for line in page.read_text().splitlines():
        if heading := HEADING.match(line):
            yield re.sub(r"[^\w\- ]", "", heading.group(1).lower()).replace(" ", "-")


def broken(page):
    for link in LINK.findall(page.read_text()):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{page.relative_to(ROOT)}: {link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in headings(target):
            yield f"{page.relative_to(ROOT)}: {link}: no such heading"


def main():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.md"], capture_output=True, text=True, check=True).stdout
    found = [link for name in listed.splitlines() if name not in SOURCES for link in broken(ROOT / name)]
    print("\n".join(found), end="\n" if found else "")
    if found:
        sys.exit(f"{len(found)} broken links")


if __name__ == "__main__":
    main()
