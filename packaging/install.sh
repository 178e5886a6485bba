#!/bin/sh
# Downloads a program of a release, verifies it and installs it in /usr/local/bin. Needs awk, tar, gzip, sha256sum, and curl or wget.
set -eu
usage="usage: install.sh URL [DIGEST]
  URL      the directory with the files of the release, such as https://downloads.example.org/nodeinit/0.2.0
  DIGEST   the SHA-256 of the tarball. If omitted, it is read from SHA256SUMS in the same directory, which detects a broken download but
           not a server that replaces both files; only with https
environment:
  PROGRAM  nodeinit (the default) or provisioner
  VERSION  the version, by default 0.2.0
  BIN_DIR  where to install, by default /usr/local/bin"
die() { echo "install.sh: $*" >&2; exit 1; }
case ${1:-} in -h | --help) echo "$usage"; exit 0 ;; '') echo "$usage" >&2; exit 64 ;; esac
[ $# -lt 2 ] || [ -n "$2" ] || die "DIGEST is empty; leave the argument out to use SHA256SUMS of the server"
url=${1%/} digest=${2:-} program=${PROGRAM:-nodeinit} version=${VERSION:-0.2.0} bin=${BIN_DIR:-/usr/local/bin}

[ "$(uname -s)" = Linux ] || die "$program runs on Linux only, not on $(uname -s)"
case $(uname -m) in
x86_64) arch=amd64 ;;
aarch64) arch=arm64 ;;
*) die "no $program is built for $(uname -m)" ;;
esac
file=$program-$version-linux-$arch.tar.gz

case $url in
https://*)
  only='--proto =https'
  # wget also follows a redirect to http.
  [ -n "$digest" ] || command -v curl >/dev/null || die "without curl, the DIGEST is needed"
  ;;
*)
  only=
  [ -n "$digest" ] || die "$url does not begin with https: give the DIGEST"
  ;;
esac
for tool in awk gzip sha256sum tar; do
  command -v $tool >/dev/null || die "$tool is not installed"
done

work=$(mktemp -d)
trap 'rm -rf "$work"; rm -f "$bin/.$program.new"' EXIT
trap 'exit 130' HUP INT TERM
fetch() { # NAME
  if command -v curl >/dev/null; then
    # shellcheck disable=SC2086
    curl $only --fail --silent --show-error --location --connect-timeout 20 --speed-limit 1000 --speed-time 60 --retry 3 --output "$work/$1" "$url/$1"
  elif command -v wget >/dev/null; then
    wget -nv --timeout=60 -O "$work/$1" "$url/$1"
  else
    die "neither curl nor wget is installed"
  fi || die "cannot download $url/$1"
}

if [ -z "$digest" ]; then
  fetch SHA256SUMS
  digest=$(awk -v file="$file" '$2 == file || $2 == "*" file {print $1}' "$work/SHA256SUMS")
  [ -n "$digest" ] || die "$url/SHA256SUMS does not list $file"
fi
fetch "$file"
actual=$(sha256sum "$work/$file" | cut -d' ' -f1)
[ "$actual" = "$digest" ] || die "$url/$file has the SHA-256 $actual, not $digest; nothing was installed"
tar -xzf "$work/$file" -C "$work" || die "$url/$file is not a complete tarball"
mkdir -p "$bin" || die "cannot create $bin: run as root, or set BIN_DIR"
cp "$work/${file%.tar.gz}/$program" "$bin/.$program.new" || die "cannot write to $bin: run as root, or set BIN_DIR"
chmod 755 "$bin/.$program.new"
mv "$bin/.$program.new" "$bin/$program"
echo "installed $program $version in $bin (SHA-256 of the tarball: $digest)"
