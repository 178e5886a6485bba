#!/usr/bin/env bash
# The demo: a real host, one `nodeinit up` on it over SSH, and a look at the cluster that answers: demo.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
binary=${1:?BINARY}
name=m1
say() { printf '\n%s==> %s%s\n' "$bold" "$*" "$plain"; }
bold='' plain='' terminal=()
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m' terminal=(-t); fi
host() { "$here/host.sh" "$@"; }

host down "$name" # a fresh one each time
say "booting host $name"
host up "$name"
# shellcheck disable=SC2016
host ssh "$name" 'echo "$(. /etc/os-release; echo "$PRETTY_NAME"), $(hostname) $(cat /etc/lab-address), containerd $(containerd --version | cut -d" " -f3)"'
host ssh "$name" mkdir -p /etc/nodeinit/conf.d
host copy "$name" "$here/cluster.yaml" /etc/nodeinit/config.yaml
"$here/machines.sh" "$name" | host ssh "$name" 'cat >/etc/nodeinit/conf.d/10-machines.yaml'
host copy "$name" "$binary" /usr/local/bin/nodeinit

say "nodeinit up, on $name"
host ssh "$name" "${terminal[@]}" nodeinit up

kubeconfig=$LAB_DIR/demo.kubeconfig
(umask 077; host ssh "$name" cat /etc/kubernetes/admin.conf >"$kubeconfig")
kubectl=$(bin_dir)/kubectl
say "the cluster, seen from this machine"
# The kubelet asks its static pods for the first time after 10 s; until then they run, but do not count as ready.
for _ in $(seq 60); do
  "$kubectl" --kubeconfig "$kubeconfig" -n kube-system get pods --no-headers | awk '{split($2, of, "/"); if (of[1] != of[2]) exit 1}' && break
  sleep 0.5
done
"$kubectl" --kubeconfig "$kubeconfig" get nodes -o wide
"$kubectl" --kubeconfig "$kubeconfig" get pods -A -o wide
say "a pod answers through a Service"
"$here/check-pods.sh" "$name"
say "reach it yourself"
cat <<END
  ${kubectl/#$HOME/\~} --kubeconfig ${kubeconfig/#$HOME/\~} get pods -A
  tests/lab/host.sh ssh $name nodeinit status
  make demo-down
END
