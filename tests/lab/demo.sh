#!/usr/bin/env bash
# Runs the demo: boots five hosts, runs `nodeinit up` on the first one over SSH, and shows the cluster: demo.sh BINARY
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

say "nodeinit up on m1, with HAProxy on this machine in front of the masters"
host ssh m1 "${terminal[@]}" nodeinit up

kubeconfig=$LAB_DIR/demo.kubeconfig
(umask 077; host ssh m1 cat /etc/kubernetes/admin.conf >"$kubeconfig")
kubectl=$(bin_dir)/kubectl
say "the cluster, seen from this machine"
"$kubectl" --kubeconfig "$kubeconfig" get nodes -o wide
"$kubectl" --kubeconfig "$kubeconfig" get pods -A -o wide
host ssh m1 nodeinit etcd members
say "pods on all hosts reach each other by address, through a Service and by name"
"$here/check-pods.sh" m1
host ssh m1 nodeinit timeline -o svg >"$LAB_DIR/timeline.svg"
say "a timeline of all hosts is in ${LAB_DIR/#$HOME/\~}/timeline.svg"
say "how to reach the cluster"
cat <<END
  ${kubectl/#$HOME/\~} --kubeconfig ${kubeconfig/#$HOME/\~} get pods -A
  tests/lab/host.sh ssh m1 nodeinit status
  make demo-down
END
