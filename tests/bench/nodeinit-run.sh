#!/usr/bin/env bash
# Times `nodeinit up` on a new host: nodeinit-run.sh idle|busy|small|fresh BINARY [HOST [IP]]; prints one JSON line on stdout.
# The modes are the same as in kubeadm-baseline.sh.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=${1:?idle, busy, small or fresh}
binary=${2:?BINARY}
name=${3:-k1}
ip=${4:-10.77.0.41}

[ "$mode" = fresh ] || export LAB_IMPORTED=1
fresh_host "$name" "$ip"
"$host" ssh "$name" mkdir -p /etc/nodeinit/conf.d
"$host" copy "$name" "$(release_dir)/cluster.yaml" /etc/nodeinit/config.yaml
"$lab/machines.sh" "$name" | "$host" ssh "$name" 'cat >/etc/nodeinit/conf.d/10-machines.yaml'
"$host" copy "$name" "$binary" /usr/local/bin/nodeinit
"$host" copy "$name" "$bench/idle.yaml" "$bench/kubeadm-on-host.sh" "$bench/nodeinit-on-host.py" /root/
config=(/etc/nodeinit/config.yaml)
if [ "$mode" != fresh ]; then
  config+=(/root/idle.yaml)
  "$host" ssh "$name" bash /root/kubeadm-on-host.sh artifacts >&2
fi
case $mode in small) "$host" cpu "$name" 0.5 ;; busy) "$host" writes "$name" on ;; esac
usage begin "$name"
"$host" ssh "$name" python3 /root/nodeinit-on-host.py "$mode" "${config[@]}"
usage end "$name"
