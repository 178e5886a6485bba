#!/usr/bin/env python3
"""Fails if a page or a source file uses a word from the list below: prose.py. The pages are all Markdown files of the repository, without code blocks
and `code`; docs/reference/cli.md and docs/reference/configuration.md are generated from help texts and descriptions of keys, so those are checked with
them. The source files are checked completely: messages, comments and names."""
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# What not to write: what to write.
WORDS = {
    r"anew": "again",
    r"artefacts?": "artifact",
    r"mend(s|ed|ing)?": "fix, repair",
    r"whoever": "the user, the node that",
    r"stands? in(?! for)": "is in, is listed under",
    r"lies at": "is at",
    r"(is|are) told": "reports, prints",
    r"spoken of": "reported",
    r"what of it": "which settings",
    r"sees? to": "configure",
    r"is well": "is healthy",
    r"leans? on": "depends on",
    r"a person": "you, the operator",
    r"beside what": "in addition to what",
    r"hold among themselves": "held by one master at a time",
    r"none of the configuration's": "matches no entry",
    r"be let into": "join",
    r"truth value": "boolean",
    r"certificates' ends": "expiry",
    r"the rooms?": "modules",
    r"comes? by (itself|themselves)": "joins on its own",
}
BANNED = [(re.compile(rf"\b{word}\b", re.IGNORECASE), better) for word, better in WORDS.items()]
CODE = re.compile(r"(`+).*?\1")
SOURCES = ["*.rs", "*.sh", "*.py", "*.yaml", "systemd/*", "Makefile", ".ci/*", ":!tests/prose.py"]


def findings(path):
    fenced = False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        fenced ^= line.startswith("```")
        if fenced or line.startswith("    "):
            continue
        yield from banned(path, number, CODE.sub(lambda code: " " * len(code.group()), line))


def findings_in_source(path):
    for number, line in enumerate(path.read_text().splitlines(), 1):
        yield from banned(path, number, line)


def banned(path, number, text):
    for word, better in BANNED:
        for found in word.finditer(text):
            yield f"{path.relative_to(ROOT)}:{number}:{found.start() + 1}: `{found.group()}`: write {better}"


def pages(patterns=("*.md",)):
    """Returns the files of the repository that match the patterns, by default all Markdown files."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", *patterns], capture_output=True, text=True, check=True).stdout
    return [ROOT / name for name in listed.splitlines() if (ROOT / name).exists()]


def check(findings, what, without=(), patterns=("*.md",)):
    """Prints the findings in all files that match the patterns, except `without`, and exits with 1 if there are any."""
    found = [finding for page in pages(patterns) if str(page.relative_to(ROOT)) not in without for finding in findings(page)]
    if found:
        print("\n".join(found))
        sys.exit(f"{len(found)} {what}")


if __name__ == "__main__":
    check(findings, "words that a reader has to look up")
    check(findings_in_source, "words in source files that a reader has to look up", patterns=SOURCES)
