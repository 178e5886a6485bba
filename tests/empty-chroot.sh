#!/usr/bin/env bash
# Runs nodeinit or the provisioner in a chroot that contains nothing else, not even /dev and /proc: empty-chroot.sh FILE
set -euo pipefail
chroot=(chroot)
if [ "$(id -u)" != 0 ]; then
  chroot=(unshare --map-root-user chroot)
  unshare --map-root-user true 2>/dev/null ||
    { echo "skipped the test in an empty chroot: it needs root or user namespaces"; exit 0; }
fi
empty=$(mktemp -d)
trap 'rm -rf "$empty"' EXIT
program=$(basename "$1")
cp "$1" "$empty/$program"
inside() { PATH=/usr/sbin:$PATH "${chroot[@]}" "$empty" "/$program" "$@" </dev/null; }
inside --help >/dev/null
if [ "$program" = provisioner ]; then
  inside init --file /cluster.yaml --name demo --image debian --flavor small --access 192.0.2.0/24 >/dev/null
  code=0
  said=$(OS_CLOUD=none inside plan --config /cluster.yaml 2>&1) || code=$?
  [[ $code = 78 && $said = *clouds.yaml* ]] || { echo "plan ended with $code: $said" >&2; exit 1; }
  echo "provisioner runs in an empty chroot: --help, init, plan without clouds.yaml"
  exit 0
fi
inside config init --yes --file /cluster.yaml >/dev/null
inside config validate --config /cluster.yaml >/dev/null
echo "name: Not_A_Name" >>"$empty/wrong.yaml"
code=0
said=$(inside config validate --config /cluster.yaml --config /wrong.yaml 2>&1) || code=$?
[[ $code = 78 && $said = *wrong.yaml:1:* ]] || { echo "config validate ended with $code: $said" >&2; exit 1; }
echo "nodeinit runs in an empty chroot: --help, config init, config validate"
