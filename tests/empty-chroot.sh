#!/usr/bin/env bash
# Runs nodeinit in a chroot that contains nothing else, not even /dev and /proc: empty-chroot.sh FILE
set -euo pipefail
chroot=(chroot)
if [ "$(id -u)" != 0 ]; then
  chroot=(unshare --map-root-user chroot)
  unshare --map-root-user true 2>/dev/null ||
    { echo "skipped the test in an empty chroot: it needs root or user namespaces"; exit 0; }
fi
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
cp "$1" "$empty/nodeinit"
inside() { PATH=/usr/sbin:$PATH "${chroot[@]}" "$empty" /nodeinit "$@" </dev/null; }
inside --help >/dev/null
inside config init --yes --file /cluster.yaml >/dev/null
inside config validate --config /cluster.yaml >/dev/null
echo "name: Not_A_Name" >>"$empty/wrong.yaml"
code=0
said=$(inside config validate --config /cluster.yaml --config /wrong.yaml 2>&1) || code=$?
[[ $code = 78 && $said = *wrong.yaml:1:* ]] || { echo "config validate ended with $code: $said" >&2; exit 1; }
echo "nodeinit runs in an empty chroot: --help, config init, config validate"
