#!/usr/bin/env bash
# Times stock kubeadm on a freshly made host: kubeadm-baseline.sh idle|busy|small|fresh [HOST [IP]]; prints one JSON line on stdout.
#   idle   `kubeadm init`, everything installed and imported before, addons left out
#   busy   the same with heavy writes beside it on its disk
#   small  as idle with the host limited to half a core
#   fresh  from a booted host with containerd and files at hand to network, kube-proxy and CoreDNS available
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mode=${1:?idle, busy, small or fresh}
name=${2:-k1}
ip=${3:-10.77.0.41}
host=$here/../lab/host.sh

"$host" down "$name"
trap '"$host" down "$name"' EXIT
[ "$mode" = fresh ] || export LAB_IMPORTED=1
"$host" up "$name" "$ip" >&2
"$here/kubeadm-config.sh" "$name" "$ip"
"$host" copy "$name" "$here/kube-flannel.yaml" "$here/kubeadm-on-host.sh" /root/
if [ "$mode" != fresh ]; then "$host" ssh "$name" bash /root/kubeadm-on-host.sh prepare >&2; fi
case $mode in small) "$host" cpu "$name" 0.5 ;; busy) "$host" writes "$name" on ;; esac
"$host" ssh "$name" bash /root/kubeadm-on-host.sh "$([ "$mode" = fresh ] && echo fresh || echo init)" | sed "s/^{/{\"tool\": \"kubeadm\", \"mode\": \"$mode\", /"
