#!/usr/bin/env bash
# Prints the part of a cluster.yaml that lists hosts of the lab: machines.sh MASTER... [-- WORKER...]
# The first master reaches the others with the lab's key, which must be in its /root/.ssh/id_ed25519. LAB_ENDPOINT=HOST:PORT is
# the load balancer in front of the masters (`host.sh balance`).
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ $# -gt 0 ] || die "usage: machines.sh MASTER... [-- WORKER...]"
printf 'apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nssh: {keyFile: /root/.ssh/id_ed25519}\n'
[ -z "${LAB_ENDPOINT:-}" ] || echo "controlPlane: {endpoint: \"$LAB_ENDPOINT\"}"
echo masters:
for name in "$@"; do
  if [ "$name" = -- ]; then
    echo workers:
    continue
  fi
  host=$LAB_DIR/hosts/$name
  [ -s "$host/known_hosts" ] || die "there is no host $name"
  printf -- '- name: %s\n  address: %s\n  hostKeys:\n' "$name" "$(cat "$host/ip")"
  sed -E 's/^[^ ]+ ([^ ]+ [^ ]+).*/  - \1/' "$host/known_hosts"
done
