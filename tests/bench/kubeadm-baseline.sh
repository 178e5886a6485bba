#!/usr/bin/env bash
# Times stock kubeadm on a new host: kubeadm-baseline.sh idle|busy|small|fresh [HOST [IP]]; prints one JSON line on stdout.
#   idle   `kubeadm init`, with everything installed and imported before, without addons
#   busy   the same with heavy concurrent writes on its disk
#   small  as idle with the host limited to half a core
#   fresh  from a booted host with containerd and the files to available network, kube-proxy and CoreDNS
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=${1:?idle, busy, small or fresh}
name=${2:-k1}
ip=${3:-10.77.0.41}

[ "$mode" = fresh ] || export LAB_IMPORTED=1
fresh_host "$name" "$ip"
"$bench/kubeadm-config.sh" "$name" "$ip"
"$host" copy "$name" "$bench/kube-flannel.yaml" "$bench/kubeadm-on-host.sh" /root/
if [ "$mode" != fresh ]; then "$host" ssh "$name" bash /root/kubeadm-on-host.sh prepare >&2; fi
case $mode in small) "$host" cpu "$name" 0.5 ;; busy) "$host" writes "$name" on ;; esac
usage begin "$name"
"$host" ssh "$name" bash /root/kubeadm-on-host.sh "$([ "$mode" = fresh ] && echo fresh || echo init)" | sed "s/^{/{\"tool\": \"kubeadm\", \"mode\": \"$mode\", /"
usage end "$name"
