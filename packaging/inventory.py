#!/usr/bin/env python3
"""Writes what a program is made of: inventory.py PROGRAM TARGET DIRECTORY.

PROGRAM.cdx.json is a software bill of materials in CycloneDX 1.5: the crates, Rust's standard library and the C libraries. Crates that only the
build used have the scope `excluded`. THIRD-PARTY-LICENSES has the licences and notices of all of them. SOURCE_DATE_EPOCH is the time of both."""
import datetime
import html
import json
import os
import pathlib
import re
import subprocess
import sys
import tomllib
import uuid

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTICE = re.compile(r"(UN)?LICEN[SC]E|COPYING|COPYRIGHT|NOTICE", re.IGNORECASE)
HEADER = """\
{program} {version} contains or was built with the software listed below. {program} itself is under the Apache License 2.0.

The C library (glibc) is linked statically; the GNU Lesser General Public License 2.1, section 6, permits this. To link {program} with
another version of glibc, build it from its source: `make build` uses the version that is installed.
"""


def run(*command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def tree(program, target, *edges):
    """Returns the (name, version) pairs of the crates in the program's tree."""
    lines = run("cargo", "tree", "--locked", "-p", program, "--target", target, "--prefix", "none", "-f", "{p}", "-e", ",".join(edges))
    return {(words[0], words[1].removeprefix("v")) for words in map(str.split, lines.splitlines()) if words}


def crates(program, target):
    """Returns the metadata of every crate, with `scope`, `needs` and `checksum`."""
    metadata = json.loads(run("cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target))
    locked = tomllib.loads((ROOT / "Cargo.lock").read_text())["package"]
    checksums = {(package["name"], package["version"]): package.get("checksum") for package in locked}
    linked = tree(program, target, "normal", "no-proc-macro")
    used = tree(program, target, "normal", "build")
    names = {package["id"]: (package["name"], package["version"]) for package in metadata["packages"]}
    needs = {names[node["id"]]: {names[need] for need in node["dependencies"]} & used for node in metadata["resolve"]["nodes"]}
    found = {}
    for package in metadata["packages"]:
        key = (package["name"], package["version"])
        if key in used:
            scope = "required" if key in linked else "excluded"
            found[key] = package | {"scope": scope, "needs": needs[key], "checksum": checksums[key]}
    if missing := used - found.keys():
        sys.exit(f"inventory: cargo metadata does not list {sorted(missing)}")
    return dict(sorted(found.items()))


def toolchain(target):
    """Returns what the linker adds: name, version, licence, purl and the files with its terms."""
    sysroot = pathlib.Path(run("rustc", "--print", "sysroot").strip())
    rust = re.search(r"release: (\S+)", run("rustc", "-vV")).group(1)
    rust_terms = sysroot / "share/doc/rust/COPYRIGHT-library.html"
    libraries = [("rust-std", rust, "MIT OR Apache-2.0", f"pkg:generic/rust-std@{rust}", [rust_terms])]
    compiler = "gcc" if target.startswith(os.uname().machine) else f"{target.replace('-unknown', '')}-gcc"
    gpl, lgpl = (pathlib.Path("/usr/share/common-licenses") / name for name in ("GPL-3", "LGPL-2.1"))
    for name, file, licence, text in [
        ("glibc", "libc.a", "LGPL-2.1-or-later", lgpl),
        ("libgcc", "libgcc.a", "GPL-3.0-or-later WITH GCC-exception-3.1", gpl),
    ]:
        path = os.path.realpath(run(compiler, f"-print-file-name={file}").strip())
        package = run("dpkg-query", "--search", path).split(":")[0]
        version = run("dpkg-query", "--show", "-f", "${Version}\n", package).splitlines()[0]
        purl = f"pkg:deb/debian/{package}@{version.replace(':', '%3A').replace('+', '%2B')}"
        terms = [pathlib.Path("/usr/share/doc") / package / "copyright", text]
        libraries.append((name, version, licence, purl, terms))
    return libraries


def texts_of(package):
    """Returns the licence files of a crate; a crate without one has the texts that its licence names."""
    folder = pathlib.Path(package["manifest_path"]).parent
    files = sorted(path for path in folder.rglob("*") if path.is_file() and NOTICE.match(path.name) and path.suffix not in (".rs", ".toml"))
    if files or package["source"] is None:
        return files or [ROOT / "LICENSE"]
    sysroot = pathlib.Path(run("rustc", "--print", "sysroot").strip())
    standard = [sysroot / f"share/doc/rust/licenses/{name}.txt" for name in re.findall(r"[\w.-]+", package["license"])]
    files = [path for path in standard if path.exists()]
    return files or sys.exit(f"inventory: {package['name']} {package['version']} has no licence file, and its licence is {package['license']}")


def licences(program, version, packages, libraries):
    """Returns the list of the software, and each distinct text once."""
    numbers, texts, rows = {}, [], []

    def number(path):
        if not path.exists():
            sys.exit(f"inventory: {path} is missing: install the documentation of Rust or of the C library")
        text = path.read_text(errors="replace")
        if path.suffix == ".html":
            text = html.unescape(re.sub(r"<[^>]+>", "", text))
        text = re.sub(r"\n{3,}", "\n\n", "\n".join(line.rstrip() for line in text.splitlines())).strip("\n")
        key = " ".join(text.split())
        if key not in numbers:
            numbers[key] = len(numbers) + 1
            texts.append(text)
        return numbers[key]

    for package in packages.values():
        if package["name"] != program:
            by = f", by {', '.join(package['authors'])}" if package["authors"] else ""
            rows.append((f"{package['name']} {package['version']}", package["license"], by, texts_of(package)))
    rows += [(f"{name} {number}", licence, "", files) for name, number, licence, _, files in libraries]
    listed = "".join(
        f"{name}: {licence}{by}; {', '.join(f'text {n}' for n in sorted({number(path) for path in files}))}\n"
        for name, licence, by, files in rows
    )
    numbered = "".join(f"\n{'-' * 30} text {n} {'-' * 30}\n\n{text}\n" for n, text in enumerate(texts, 1))
    return f"{HEADER.format(program=program, version=version)}\n{listed}{numbered}"


def component(package):
    """Returns a crate as a CycloneDX component."""
    described = {
        "type": "library",
        "bom-ref": purl(package),
        "name": package["name"],
        "version": package["version"],
        "scope": package["scope"],
        "licenses": [{"expression": re.sub(r"\s*/\s*", " OR ", package["license"])}],
        "purl": purl(package),
    }
    if package["checksum"]:
        described["hashes"] = [{"alg": "SHA-256", "content": package["checksum"]}]
    if package["repository"]:
        described["externalReferences"] = [{"type": "vcs", "url": package["repository"]}]
    return described


def purl(package):
    kind = "cargo" if package["source"] else "generic"
    return f"pkg:{kind}/{package['name']}@{package['version'].replace('+', '%2B')}"


def materials(program, target, packages, libraries):
    """Returns the bill of materials."""
    main = next(package for package in packages.values() if package["name"] == program)
    seconds = int(os.environ["SOURCE_DATE_EPOCH"])
    others = [component(package) for package in packages.values() if package is not main]
    for name, version, licence, url, _ in libraries:
        others.append({"type": "library", "bom-ref": url, "name": name, "version": version, "scope": "required",
                       "licenses": [{"expression": licence}], "purl": url})  # fmt: skip
    program_itself = component(main) | {"type": "application", "description": main["description"]}
    depends = {purl(package): [purl(packages[need]) for need in sorted(package["needs"])] for package in packages.values()}
    depends[purl(main)] += [url for _, _, _, url, _ in libraries]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, f'{purl(main)}?target={target}&time={seconds}')}",
        "version": 1,
        "metadata": {
            "timestamp": datetime.datetime.fromtimestamp(seconds, datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": program_itself,
            "properties": [{"name": "nodeinit:target", "value": target}],
        },
        "components": others,
        "dependencies": [{"ref": ref, "dependsOn": needs} for ref, needs in depends.items()],
    }


def main(program, target, directory):
    packages, libraries = crates(program, target), toolchain(target)
    version = next(package["version"] for package in packages.values() if package["name"] == program)
    out = pathlib.Path(directory)
    bill = materials(program, target, packages, libraries)
    (out / f"{program}.cdx.json").write_text(json.dumps(bill, indent=2, ensure_ascii=False) + "\n")
    (out / "THIRD-PARTY-LICENSES").write_text(licences(program, version, packages, libraries))


if __name__ == "__main__":
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    main(*sys.argv[1:])
