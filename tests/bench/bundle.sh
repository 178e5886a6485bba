#!/usr/bin/env bash
# Times one `nodeinit up` to three masters and two workers on hosts without containerd: bundle.sh bundle|ssh|each BINARY; prints one JSON line on stdout.
# bundle: only the first master has the artifacts, in one file. each: every host has a directory of them.
# ssh: as bundle, with a firewall that lets the other hosts reach the artifacts through SSH only.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=${1:?bundle, ssh or each}
binary=${2:?BINARY}

"$lab/containerd.sh" >/dev/null
export LAB_BARE=1
fresh_hosts b 61 5
first=${names[0]}
equip_first "$binary"

directory() { # in the official layout; no CAP_SYS_RESOURCE in the lab
  "$host" ssh "$1" bash -es <<'END'
mkdir -p /opt/own/bin /etc/containerd/conf.d
ln -s /opt/lab/bin/runtime/* /opt/lab/bin/* /opt/own/bin/
ln -s /opt/lab/images /opt/own/images
printf "version = 3\n[plugins.'io.containerd.cri.v1.runtime']\n  restrict_oom_score_adj = true\n" >/etc/containerd/conf.d/lab.toml
END
}
hide() { "$host" ssh "$1" 'rm -r /opt/own && mount -t tmpfs -o ro hidden /opt/lab'; }
configure() { # SOURCE FROM
  "$host" ssh "$first" "cat >/etc/nodeinit/conf.d/20-artifacts.yaml" <<<"containerRuntime: {manage: true}
artifacts:
  source: $1
  from: $2
  sha256:
$digests"
}

on_all directory
digests=$("$host" ssh "$first" bash -es <<'END'
cd /opt/own
{ sed -n 's/.*path: \([^,]*\),.*/\1/p' /etc/nodeinit/config.yaml; ls -d bin/containerd* bin/ctr bin/runc; } |
  xargs sha256sum | sed 's/^\([^ ]*\)  \(.*\)$/    \2: \1/'
END
)
configure /opt/own each
if [ "$mode" != each ]; then
  "$host" ssh "$first" nodeinit artifacts bundle --output /opt/kubernetes.tar >&2
  on_all hide
  configure /opt/kubernetes.tar first
fi
if [ "$mode" = ssh ]; then
  for name in "${names[@]:1}"; do
    "$host" ssh "$name" iptables -A OUTPUT -d "$(cat "$LAB_DIR/hosts/$first/ip")" -p tcp --syn --dport 32768:65535 -j DROP
  done
fi

usage begin "${names[@]}"
started=${EPOCHREALTIME/./}
"$host" ssh "$first" 'nodeinit up --output json >/root/events.jsonl || { tail -n 5 /root/events.jsonl >&2; exit 1; }'
ended=${EPOCHREALTIME/./}
used=$(usage end "${names[@]}")
ready=$("$host" ssh "$first" 'kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes --no-headers | grep -c " Ready "')
[ "$ready" = 5 ] || die "$ready of 5 nodes are Ready"
if [ "$mode" = ssh ]; then
  for name in "${names[@]:1}"; do
    "$host" ssh "$name" iptables -vnxL OUTPUT | awk '/dpts:32768:65535/ && $1 > 0 {dropped = 1} END {exit !dropped}' || die "$name did not meet the firewall"
  done
fi
printf '{"mode": "%s", "seconds": %d.%03d}\n%s\n' "$mode" $(((ended - started) / 1000000)) $(((ended - started) / 1000 % 1000)) "$used"
