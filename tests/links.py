#!/usr/bin/env python3
"""Fails where a link or an image of a page leads to no file or no heading of this repository, or where a page of docs/ cannot be
reached from docs/README.md: links.py. Links to other sites are not tried."""
import re
import sys

from prose import ROOT, check, pages

# The beginnings of generated pages. Their links are relative to docs/reference/, and are checked there.
SOURCES = {"nodeinit/config/tests/reference.md", "nodeinit/config/tests/releases.md", "nodeinit/tests/cli.md"}
LINK = re.compile(r"\]\(([^)\s]+)\)|<img [^>]*src=\"([^\"]+)\"")
HEADING = re.compile(r"#+ (.*)")
CODE = re.compile(r"`[^`]*`")
INDEX = ROOT / "docs/README.md"


def lines(page):
    """The lines of a page that are not in a block of code."""
    fenced = False
    for line in page.read_text().splitlines():
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        if not fenced and not fence:
            yield line


def links(page):
    for line in lines(page):
        for link, image in LINK.findall(CODE.sub("", line)):
            if not re.match(r"[a-z]+:", link or image):
                yield link or image


def headings(page):
    """Returns the anchors that GitHub generates for the headings of a page."""
    seen = {}
    for line in lines(page):
        if heading := HEADING.match(line):
            text = re.sub(r"\]\([^)]*\)", "", heading.group(1))
            anchor = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
            count = seen[anchor] = seen.get(anchor, -1) + 1
            yield f"{anchor}-{count}" if count else anchor


def broken(page):
    for link in links(page):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if not target.exists():
            yield f"{page.relative_to(ROOT)}: {link}: no such file"
        elif anchor and target.suffix == ".md" and anchor not in headings(target):
            yield f"{page.relative_to(ROOT)}: {link}: no such heading"


def reachable(start):
    """The pages to which links lead from `start`, one after the other."""
    found, left = set(), [start]
    while left:
        page = left.pop()
        if page not in found:
            found.add(page)
            targets = ((page.parent / link.partition("#")[0]).resolve() for link in links(page))
            left += [target for target in targets if target.suffix == ".md" and target.exists()]
    return found


if __name__ == "__main__":
    check(broken, "broken links", without=SOURCES)
    known = reachable(INDEX)
    lost = [page for page in pages() if page.is_relative_to(ROOT / "docs") and page not in known]
    if lost:
        sys.exit("\n".join(f"{page.relative_to(ROOT)}: no link leads there from docs/README.md" for page in lost))
