#!/usr/bin/env bash
# The demo: five hosts (systemd-nspawn containers), one `nodeinit up` on the first, and the cluster: demo.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
binary=${1:?BINARY}
masters=(m1 m2 m3)
workers=(w1 w2)
say() { printf '\n%s==> %s%s\n' "$bold" "$*" "$plain"; }
bold='' plain='' terminal=()
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m' terminal=(-t); fi
host() { "$here/host.sh" "$@"; }

say "booting the hosts ${masters[*]} ${workers[*]}"
host down "${masters[@]}" "${workers[@]}" # fresh hosts each time
"$here/prepare.sh" >/dev/null
booting=()
for name in "${masters[@]}" "${workers[@]}"; do host up "$name" & booting+=($!); done
for process in "${booting[@]}"; do wait "$process"; done
# shellcheck disable=SC2016
host ssh m1 'echo "$(. /etc/os-release; echo "$PRETTY_NAME"), containerd $(containerd --version | cut -d" " -f3), without Kubernetes"'
host ssh m1 mkdir -p /etc/nodeinit/conf.d
host copy m1 "$(release_dir)/cluster.yaml" /etc/nodeinit/config.yaml
host unserve 6443
host balance 6443 "${masters[@]}"
LAB_ENDPOINT=10.77.0.1:6443 "$here/machines.sh" "${masters[@]}" -- "${workers[@]}" | host ssh m1 'cat >/etc/nodeinit/conf.d/10-machines.yaml'
host copy m1 "$LAB_DIR/ssh_key" /root/.ssh/id_ed25519
host copy m1 "$binary" /usr/local/bin/nodeinit

say "nodeinit up, on m1 (a load balancer on this machine is in front of the API servers)"
host ssh m1 "${terminal[@]}" nodeinit up

kubeconfig=$LAB_DIR/demo.kubeconfig
(umask 077; host ssh m1 cat /etc/kubernetes/admin.conf >"$kubeconfig")
kubectl=$(bin_dir)/kubectl
kubectl() { "$kubectl" --kubeconfig "$kubeconfig" "$@"; }
# A kubelet reports its static pods to the API server some seconds after they run.
static=()
for name in "${masters[@]}"; do static+=(pod/{etcd,kube-apiserver,kube-controller-manager,kube-scheduler}-"$name"); done
kubectl wait -n kube-system --for=create --timeout=120s "${static[@]}" >/dev/null
kubectl wait -A --for=condition=Ready --timeout=120s pod --all >/dev/null
say "kubectl get nodes"
kubectl get nodes
say "nodeinit etcd members"
host ssh m1 nodeinit etcd members
say "all pods are ready, and reach each other by address, Service and DNS name"
kubectl get pods -A --no-headers | awk '{split($3, n, "/"); ready[$1] += n[1] == n[2]; all[$1]++}
  END {for (name in all) printf "%-14s %d of %d pods ready\n", name, ready[name], all[name]}' | sort
"$here/check-pods.sh" m1 | tail -n 1
host ssh m1 nodeinit timeline -o svg >"$LAB_DIR/timeline.svg"
say "try it"
cat <<END
  ${kubectl/#$HOME/\~} --kubeconfig ${kubeconfig/#$HOME/\~} get pods -A
  tests/lab/host.sh ssh m1 nodeinit status
  make demo-down
The timeline of this run is ${LAB_DIR/#$HOME/\~}/timeline.svg
END
