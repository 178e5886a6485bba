#!/usr/bin/env bash
# Times stock kubeadm to three masters and two workers: ha-kubeadm.sh ha|ha-fresh [PREFIX [FIRST]]; prints one JSON line on stdout.
# The hosts are PREFIX1 to PREFIX5 at 10.77.0.FIRST and the next four.
#   ha        programs, units and images are already on every host; measured from `kubeadm init` on
#   ha-fresh  newly booted hosts with only containerd and the files, which are installed on all five in parallel
# A good script: every host prepares itself, `init` and the pod network follow, the second and the third master join one after the other as
# etcd requires of kubeadm, both workers in parallel as soon as there is a cluster to join.
set -euo pipefail
# shellcheck source=kubeadm-cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/kubeadm-cluster.sh"
mode=${1:?ha or ha-fresh}

[ "$mode" = ha-fresh ] || export LAB_IMPORTED=1
fresh_hosts "${2:-h}" "${3:-51}" 5
first=${names[0]}

copy_kubeadm_files
"$host" copy "$first" "$bench/ha-on-host.py" /root/
[ "$mode" = ha-fresh ] || on_all prepare

usage begin "${names[@]}"
start=${EPOCHREALTIME/./}
"$host" ssh "$first" python3 /root/ha-on-host.py 5 "$start" >"$LAB_DIR/log/ha-kubeadm.json" &
watcher=$!
if [ "$mode" = ha-fresh ]; then on_all prepare; fi
prepared=$(since)
say prepared
on_host "$first" init-ha
initialised=$(since)
say initialised
join_all
joined=$(since)
wait "$watcher"
sed "s/^{/{\"tool\": \"kubeadm\", \"mode\": \"$mode\", \"prepared\": $prepared, \"initialised\": $initialised, \"joined\": $joined, /" \
  "$LAB_DIR/log/ha-kubeadm.json"
usage end "${names[@]}"
