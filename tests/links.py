#!/usr/bin/env python3
"""Fails if a link in a page has no target file or heading in this repository: links.py. Does not check links to other sites."""
import re

from prose import ROOT, check

# The introductions of generated pages. Their links are relative to docs/, and are checked there.
SOURCES = {"nodeinit/config/tests/releases.md", "nodeinit/tests/cli.md"}
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"#+ (.*)")


def headings(page):
    """Returns the anchors that GitHub generates for the headings of a page."""
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


if __name__ == "__main__":
    check(broken, "broken links", without=SOURCES)
