#!/usr/bin/env bash
# Tests packaging/install.sh against a file server on loopback, with a small script as the program: install.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
dir=$(mktemp -d)
bin=$dir/installed
trap '[ -z "${server:-}" ] || kill "$server"; rm -rf "$dir"' EXIT
fail() { echo "install.sh: $*" >&2; exit 1; }

version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
grep -q "^## ${version//./\\.}\b" CHANGELOG.md || fail "CHANGELOG.md has no section $version"
grep -q "nodeinit_${version//./\\.}-" docs/how-to/install.md || fail "docs/how-to/install.md names other files than those of version $version"
case $(uname -m) in x86_64) arch=amd64 ;; *) arch=arm64 ;; esac
name=nodeinit-$version-linux-$arch
mkdir -p "$dir/files/$name" "$dir/tmp"
printf '#!/bin/sh\necho new\n' >"$dir/files/$name/nodeinit"
tar -czf "$dir/files/$name.tar.gz" -C "$dir/files" "$name"
(cd "$dir/files" && sha256sum "$name.tar.gz" >SHA256SUMS)
digest=$(cut -d' ' -f1 "$dir/files/SHA256SUMS")
python3 -u -m http.server --bind 127.0.0.1 --directory "$dir/files" 0 >"$dir/server.log" 2>&1 &
server=$!
for _ in $(seq 100); do
  port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$dir/server.log")
  [ -z "$port" ] || break
  sleep 0.1
done
[ -n "$port" ] || fail "the file server did not start: $(cat "$dir/server.log")"

own=http://127.0.0.1:$port
run() { TMPDIR=$dir/tmp BIN_DIR=$bin sh packaging/install.sh "$own" "$@" >"$dir/said" 2>&1; }
works() { # WHAT ARGUMENT...
  rm -rf "$bin"
  run "${@:2}" || fail "$1 failed: $(cat "$dir/said")"
  [ "$(ls -A "$bin"):$("$bin/nodeinit")" = nodeinit:new ] || fail "$1 left $(ls -A "$bin")"
}
fails() { # WHAT MESSAGE ARGUMENT...: an installed program stays, and nothing else is left
  rm -rf "$bin"
  ! run "${@:3}" || fail "$1 was not refused"
  grep -q "$2" "$dir/said" || fail "$1 was refused without \"$2\": $(cat "$dir/said")"
  [ ! -e "$bin" ] || fail "$1 left $(ls -A "$bin")"
  mkdir "$bin"
  echo former >"$bin/nodeinit"
  ! run "${@:3}" || fail "$1 was not refused the second time"
  [ "$(ls -A "$bin"):$(cat "$bin/nodeinit")" = nodeinit:former ] || fail "$1 changed the installed program"
  [ -z "$(ls -A "$dir/tmp")" ] || fail "$1 left $(ls -A "$dir/tmp")"
}
works "a digest as argument" "$digest"
fails "no digest and no TLS" "does not begin with https"
fails "an empty digest" "DIGEST is empty" ""
fails "a wrong digest" "not ${digest//?/0}; nothing was installed" "${digest//?/0}"
(
  # The list of digests is only used with https; curl gets it from a file here.
  mkdir "$dir/curl"
  printf '#!/bin/sh\nwhile [ "$1" != --output ]; do shift; done\nexec cp "%s/files/${3##*/}" "$2"\n' "$dir" >"$dir/curl/curl"
  chmod 755 "$dir/curl/curl"
  export PATH=$dir/curl:$PATH own=https://files.example.org
  works "a digest in SHA256SUMS"
  VERSION=9.9.9 fails "an unlisted version" "does not list nodeinit-9.9.9"
)
(
  mkdir "$dir/wget"
  for tool in sh awk gzip sha256sum tar mktemp uname rm cut mkdir cp chmod mv cat ls grep; do ln -s "$(command -v $tool)" "$dir/wget"; done
  printf '#!/bin/sh\nwhile [ "$1" != -O ]; do shift; done\nexec cp "%s/files/${3##*/}" "$2"\n' "$dir" >"$dir/wget/wget"
  chmod 755 "$dir/wget/wget"
  export PATH=$dir/wget own=https://files.example.org
  works "wget with a digest" "$digest"
  fails "wget without a digest" "without curl, the DIGEST is needed"
)
VERSION=9.9.9 fails "a missing file" "cannot download" "$digest"
echo more >>"$dir/files/$name.tar.gz"
fails "a changed tarball" "nothing was installed" "$digest"
head -c 100 "$dir/files/$name.tar.gz" >"$dir/files/part" && mv "$dir/files/part" "$dir/files/$name.tar.gz"
fails "a truncated tarball with its digest" "not a complete tarball" "$(sha256sum "$dir/files/$name.tar.gz" | cut -d' ' -f1)"
echo "packaging/install.sh: verifies digests; a failure leaves nothing behind"
