#!/usr/bin/env bash
# Times stock kubeadm to three masters and two workers: ha-kubeadm.sh ha|ha-fresh [PREFIX [FIRST]]; prints one JSON line on stdout.
# The hosts are PREFIX1 to PREFIX5 at 10.77.0.FIRST and the next four.
#   ha        programs, units and images are already on every host; measured from `kubeadm init` on
#   ha-fresh  newly booted hosts with only containerd and the files, which are installed on all five in parallel
# A good script: every host prepares itself, `init` and the pod network follow, the second and the third master join one after the other as
# etcd requires of kubeadm, both workers in parallel as soon as there is a cluster to join.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
mode=${1:?ha or ha-fresh}
token=abcdef.0123456789abcdef
certificate_key=$(printf '%064d' 1)

[ "$mode" = ha-fresh ] || export LAB_IMPORTED=1
fresh_hosts "${2:-h}" "${3:-51}" 5
first=${names[0]}
endpoint=$(address_of "$first"):6443

on_host() { "$host" ssh "$1" bash /root/kubeadm-on-host.sh "$2" >&2; }
prepare() { on_host "$1" prepare; }
join() { # NAME FLAGS...
  "$host" ssh "$1" kubeadm join "$endpoint" --token $token --discovery-token-unsafe-skip-ca-verification \
    --ignore-preflight-errors=SystemVerification "${@:2}" >&2
}
since() { local t=$((${EPOCHREALTIME/./} - start)); printf '%d.%03d' $((t / 1000000)) $((t / 1000 % 1000)); }
say() { echo "$(since)  $*" >&2; }

for name in "${names[@]}"; do "$host" copy "$name" "$bench/kubeadm-on-host.sh" /root/; done
"$bench/kubeadm-config.sh" "$first" "${endpoint%:*}" "$token" "$certificate_key"
"$host" copy "$first" "$bench/kube-flannel.yaml" "$bench/ha-on-host.py" /root/
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
joins=()
for name in "${names[@]:3}"; do join "$name" & joins+=($!); done
for name in "${names[@]:1:2}"; do
  join "$name" --control-plane --certificate-key "$certificate_key" --apiserver-advertise-address "$(address_of "$name")"
  say "$name joined"
done
for job in "${joins[@]}"; do wait "$job"; done
joined=$(since)
wait "$watcher"
sed "s/^{/{\"tool\": \"kubeadm\", \"mode\": \"$mode\", \"prepared\": $prepared, \"initialised\": $initialised, \"joined\": $joined, /" \
  "$LAB_DIR/log/ha-kubeadm.json"
usage end "${names[@]}"
