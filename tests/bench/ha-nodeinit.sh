#!/usr/bin/env bash
# Times one `nodeinit up` to three masters and two workers: ha-nodeinit.sh ha|ha-fresh BINARY [PREFIX [FIRST]]; prints one JSON line on stdout.
# Modes and hosts are the same as in ha-kubeadm.sh. The first master has the binary, the configuration and the key to the other hosts.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=${1:?ha or ha-fresh}
binary=${2:?BINARY}

[ "$mode" = ha-fresh ] || export LAB_IMPORTED=1
fresh_hosts "${3:-h}" "${4:-51}" 5
first=${names[0]}
equip_first "$binary"
"$host" copy "$first" "$bench/ha-on-host.py" /root/
if [ "$mode" = ha ]; then
  "$host" copy "$first" "$bench/ha.yaml" /etc/nodeinit/conf.d/20-ha.yaml
  artifacts() { "$host" ssh "$1" bash -s artifacts <"$bench/kubeadm-on-host.sh" >&2; }
  on_all artifacts
fi
usage begin "${names[@]}"
"$host" ssh "$first" python3 /root/ha-on-host.py 5 "${EPOCHREALTIME/./}" nodeinit up --output json |
  sed "s/^{/{\"tool\": \"nodeinit\", \"mode\": \"$mode\", /"
usage end "${names[@]}"
