#!/usr/bin/env python3
"""Checks the workspace's dependencies against deny.toml: licences, banned crates (in nodeinit's tree), and sources."""
import json
import pathlib
import re
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
RULES = tomllib.loads((ROOT / "deny.toml").read_text())


def cargo(*arguments):
    return subprocess.run(["cargo", *arguments, "--locked"], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def allowed(expression, names):
    """Whether `names` satisfy an SPDX expression: AND binds tighter than OR, and `/` is an old OR."""
    words = re.findall(r"\(|\)|/|[^\s()/]+(?: WITH [^\s()/]+)?", expression)

    def either():
        value = both()
        while words and words[0] in ("OR", "/"):
            words.pop(0)
            value = both() | value
        return value

    def both():
        value = one()
        while words and words[0] == "AND":
            words.pop(0)
            value = one() & value
        return value

    def one():
        word = words.pop(0)
        if word != "(":
            return word in names
        value = either()
        words.pop(0)
        return value

    return either()


def main():
    problems = []
    packages = json.loads(cargo("metadata", "--format-version", "1", "--filter-platform", RULES["graph"]["targets"][0]))["packages"]
    for package in packages:
        name = f"{package['name']} {package['version']}"
        if not allowed(package["license"] or "none", RULES["licenses"]["allow"]):
            problems.append(f"{name}: the licence {package['license']} is not in deny.toml's list")
        if package["source"] not in (None, "registry+https://github.com/rust-lang/crates.io-index"):
            problems.append(f"{name}: comes from {package['source']}")
    tree = cargo("tree", "-p", "nodeinit", "-e", "normal,build", "--prefix", "none", "-f", "{p}").split("\n")
    names = {line.split()[0] for line in tree if line}
    problems += [f"{ban['crate']} is banned and in nodeinit's tree" for ban in RULES["bans"]["deny"] if ban["crate"] in names]
    print("\n".join(problems) or f"dependencies: {len(packages)} crates, licences and sources allowed; nodeinit's tree has {len(names)}, none banned")
    return bool(problems)


if __name__ == "__main__":
    sys.exit(main())
