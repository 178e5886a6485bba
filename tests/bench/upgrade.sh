#!/usr/bin/env bash
# Upgrades three masters and two workers under load from LAB_VERSION to LAB_NEXT: upgrade.sh kubeadm|nodeinit BINARY balancer|virtual-ip; prints one
# JSON line on stdout. The tool creates its own cluster, whose endpoint is a load balancer or a virtual IP of kube-vip. Before the clock starts,
# containerd has the images of LAB_NEXT on every host, and its programs are in a directory there. tests/hosts/load.py runs on the last worker; what failed is in the lab's log directory.
set -euo pipefail
# shellcheck source=kubeadm-cluster.sh
. "$(dirname "${BASH_SOURCE[0]}")/kubeadm-cluster.sh"
tool=${1:?kubeadm or nodeinit}
binary=${2:?BINARY}
endpoint=${3:?balancer or virtual-ip}
next=${LAB_NEXT:?the next version}
release=/opt/lab/releases/$next
service=10.96.0.200
port=16031
virtual_address=10.77.0.36
log=$LAB_DIR/log/upgrade-$tool-$endpoint
exec 3>&1 >&2 # standard output is for the result

case $endpoint in
balancer) LAB_ENDPOINT=10.77.0.1:$port ;;
virtual-ip)
  LAB_ENDPOINT=$virtual_address:6443
  "$lab/addons.sh" kube-vip
  ;;
*) die "$endpoint is neither balancer nor virtual-ip" ;;
esac
export LAB_IMPORTED=1 LAB_ENDPOINT
fresh_hosts u 31 5
first=${names[0]}
client=${names[4]}
# shellcheck disable=SC2064
trap "'$host' unserve $port; '$host' down ${names[*]}" EXIT
"$host" unserve "$port"
[ "$endpoint" = virtual-ip ] || "$host" balance "$port" "${names[@]:0:3}"

kubectl() { "$host" ssh "$first" kubectl --kubeconfig /etc/kubernetes/admin.conf "$@"; }
import() {
  [ "$endpoint" = balancer ] || "$host" ssh "$1" "ctr -n k8s.io images import /opt/lab/images/addons/kube-vip.tar >/dev/null"
  "$host" ssh "$1" "for image in $release/images/*.tar; do ctr -n k8s.io images import \$image >/dev/null; done"
}

# As in https://kube-vip.io/docs/installation/static/. kubeadm init binds the group of admin.conf only after the API server answers at the endpoint.
add_kube_vip() { # NAME KUBECONFIG
  "$host" ssh "$1" "mkdir -p /etc/kubernetes/manifests
image=\$(ctr -n k8s.io images ls -q | grep kube-vip)
ctr -n k8s.io run --rm --net-host \$image kube-vip-manifest /kube-vip manifest pod --interface host0 --address $virtual_address --controlplane --arp --leaderElection |
  sed \"s#path: /etc/kubernetes/admin.conf#path: /etc/kubernetes/$2#; s#image: .*#image: \$image#; s/imagePullPolicy: Always/imagePullPolicy: IfNotPresent/\" >/etc/kubernetes/manifests/kube-vip.yaml"
}
create_with_kubeadm() {
  local name
  copy_kubeadm_files
  on_all prepare
  [ "$endpoint" = balancer ] || add_kube_vip "$first" super-admin.conf
  on_host "$first" init-ha
  join_all
  [ "$endpoint" = balancer ] || for name in "${names[@]:0:3}"; do add_kube_vip "$name" admin.conf; done
}
create_with_nodeinit() {
  equip_first "$binary"
  [ "$endpoint" = balancer ] || "$host" ssh "$first" "printf 'apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\ncontrolPlane: {virtualAddress: $virtual_address}\n' >/etc/nodeinit/conf.d/30-address.yaml"
  "$host" ssh "$first" nodeinit up
  sed "1,/^artifacts:/d; s#source: /opt/lab#source: $release#" "$LAB_DIR/release/$next/cluster.yaml" | sed '1i artifacts:' |
    "$host" ssh "$first" 'cat >/etc/nodeinit/conf.d/20-next.yaml'
}

# As in https://kubernetes.io/docs/tasks/administer-cluster/kubeadm/kubeadm-upgrade/, one machine after the other, without pauses.
upgrade_with_kubeadm() {
  local name command
  for name in "${names[@]}"; do
    command=node
    [ "$name" != "$first" ] || command="apply --yes $next"
    "$host" ssh "$name" "$release/bin/kubeadm upgrade $command --ignore-preflight-errors=SystemVerification"
    say "$name: kubeadm upgrade ended"
    kubectl drain "$name" --ignore-daemonsets --delete-emptydir-data
    say "$name: drained"
    "$host" ssh "$name" "install -m 755 $release/bin/kubelet $release/bin/kubectl $release/bin/kubeadm /usr/bin/ && systemctl restart kubelet"
    kubectl wait "--for=jsonpath={.status.nodeInfo.kubeletVersion}=$next" "node/$name" --timeout=180s
    kubectl wait --for=condition=Ready "node/$name" --timeout=180s
    kubectl uncordon "$name"
    say "$name: upgraded"
  done
}
upgrade_with_nodeinit() { "$host" ssh "$first" nodeinit upgrade apply "$next"; }

addons_are_available() {
  kubectl -n kube-flannel rollout status daemonset/kube-flannel-ds --timeout=300s
  kubectl -n kube-system rollout status daemonset/kube-proxy --timeout=300s
  kubectl -n kube-system rollout status deployment/coredns --timeout=300s
}
start_load() {
  local name members=()
  for name in "${names[@]:0:3}"; do members+=("$(address_of "$name")"); done
  "$host" copy "$first" "$bench/../hosts/workload.yaml" /root/
  kubectl apply -f /root/workload.yaml
  kubectl rollout status deployment/web --timeout=120s
  "$host" ssh "$first" "sed -nE 's/^ *client-(certificate|key)-data: //p' /etc/kubernetes/admin.conf | while read -r data; do base64 -d <<<\$data; done" |
    "$host" ssh "$client" 'cat >/root/api.pem'
  "$host" ssh "$first" 'cat /etc/kubernetes/pki/apiserver-etcd-client.{crt,key}' | "$host" ssh "$client" 'cat >/root/etcd.pem'
  "$host" ssh "$client" "until curl -s -m 2 http://$service; do sleep 0.5; done"
  "$host" copy "$client" "$bench/../hosts/load.py" /root/
  "$host" ssh "$client" python3 /root/load.py /run/stop "$LAB_ENDPOINT" "$service" "${members[@]}" >"$log.json" 2>"$log.log" &
  load=$!
}

on_all import
"create_with_$tool"
addons_are_available
start_load
sleep 10
start=${EPOCHREALTIME/./}
"upgrade_with_$tool"
addons_are_available
seconds=$(since)
sleep 10
"$host" ssh "$client" touch /run/stop
wait "$load"
nodes=$(kubectl get nodes --no-headers)
[ "$(awk -v wanted="$next" '$2 == "Ready" && $5 == wanted' <<<"$nodes" | wc -l)" = 5 ] || die "not all nodes are Ready with $next: $nodes"
sed "s/^{/{\"tool\": \"$tool\", \"seconds\": $seconds, /" "$log.json" >&3
