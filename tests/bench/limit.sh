#!/usr/bin/env bash
# The lower limit: starts etcd and the API server by hand on a new host from prepared files, until /readyz: limit.sh [HOST [IP]]; one JSON line.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
name=${1:-k1}
ip=${2:-10.77.0.41}

fresh_host "$name" "$ip"
"$bench/kubeadm-config.sh" "$name" "$ip"
"$host" ssh "$name" bash -es <<'END'
PATH=/opt/lab/bin:$PATH
for phase in "certs all" "etcd local" "control-plane apiserver"; do
  # shellcheck disable=SC2086
  kubeadm init phase $phase --config /root/kubeadm.yaml >/dev/null
done
# The command of a static pod's only container, one word per line.
command_of() { sed -n '/^  - command:/,/^    image:/s/^    - //p' "/etc/kubernetes/manifests/$1.yaml"; }
mapfile -t etcd < <(command_of etcd)
mapfile -t api < <(command_of kube-apiserver)
cat /opt/lab/bin/etcd /opt/lab/bin/kube-apiserver >/dev/null
address=$(sed -nE 's/.*--advertise-address=(.*)/\1/p' /etc/kubernetes/manifests/kube-apiserver.yaml)
start=${EPOCHREALTIME/./}
"${etcd[@]}" >/root/etcd.log 2>&1 &
"${api[@]}" >/root/api.log 2>&1 &
until [ "$(curl -s -m 2 --cacert /etc/kubernetes/pki/ca.crt "https://$address:6443/readyz")" = ok ]; do
  [ $((${EPOCHREALTIME/./} - start)) -lt 120000000 ] || { tail -n 5 /root/api.log >&2; exit 1; }
  sleep 0.1
done
t=$((${EPOCHREALTIME/./} - start))
kill %1 %2
printf '{"tool": "limit", "mode": "limit", "seconds": %d.%03d, "restarts": 0}\n' $((t / 1000000)) $((t / 1000 % 1000))
END
