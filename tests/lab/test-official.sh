#!/usr/bin/env bash
# Runs the demo of official artifacts against replacements of their servers: test-official.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
binary=$(realpath "${1:?BINARY}")
port=18400
host() { "$here/host.sh" "$@"; }
work=$(mktemp -d)
cleanup() {
  host down m1 m2 m3 w1 w2
  for served in 6443 "$port" $((port + 1)); do host unserve "$served"; done
  rm -rf "$work" ${release:+"$release"}
}
! host list | grep -qE '^(m[1-3]|w[12]) ' || die "hosts of the demo exist: run make demo-down first"
release=
trap cleanup EXIT
"$here/addons.sh" etcd-3.6
host upstream "$port" none
files=https://10.77.0.1:$port registry=https://10.77.0.1:$((port + 1))
{
  echo "artifacts:"
  echo "  mirrors: {dl.k8s.io: '$files', github.com: '$files', registry.k8s.io: '$registry', ghcr.io: '$registry'}"
  echo "  caCertificate: |"
  sed 's/^/    /' "$LAB_DIR/upstream/ca.pem"
} >"$work/mirrors.yaml"
printf '#!/bin/sh\necho "go was asked for: $*" >&2\nexit 1\n' >"$work/go"
chmod +x "$work/go"
export LAB_FETCH_CONFIG=$work/mirrors.yaml
release=$(LAB_ARTIFACTS=official release_dir)
export PATH=$work:$PATH LAB_ARTIFACTS=official LAB_NODEINIT=$binary
"$here/demo.sh" "$binary"
[ -s "$release/artifacts.lock" ] || die "nothing was fetched"

for served in "$port" $((port + 1)); do host unserve "$served"; done
"$here/prepare.sh" >/dev/null
echo "ok: the demo of official artifacts; a second demo contacts no server"
