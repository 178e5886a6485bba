#!/usr/bin/env bash
# Times stock kubeadm on a freshly made host: kubeadm-baseline.sh idle|fresh|small [HOST [IP]]; prints one JSON line on stdout.
#   idle   `kubeadm init`, everything installed and imported before, addons left out
#   small  the same with the host limited to half a core
#   fresh  from a booted host with containerd and files at hand to network, kube-proxy and CoreDNS available
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
mode=${1:?idle, fresh or small}
name=${2:-k1}
ip=${3:-10.77.0.41}
host=$here/../lab/host.sh

"$host" down "$name"
trap '"$host" down "$name"' EXIT
"$host" up "$name" "$ip" >&2
config() {
  cat <<END
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: $ip}
nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $("$host" ssh "$name" /opt/lab/bin/kubelet --version | awk '{print $2}')
controlPlaneEndpoint: $ip:6443
networking: {podSubnet: 10.244.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failSwapOn: false
localStorageCapacityIsolation: false
featureGates: {KubeletInUserNamespace: true}
---
apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
conntrack: {maxPerCore: 0, min: 0, tcpEstablishedTimeout: 0s, tcpCloseWaitTimeout: 0s}
END
}
config | "$host" ssh "$name" 'cat >/root/kubeadm.yaml'
"$host" copy "$name" "$here/kube-flannel.yaml" "$here/kubeadm-on-host.sh" /root/
if [ "$mode" != fresh ]; then "$host" ssh "$name" bash /root/kubeadm-on-host.sh prepare >&2; fi
if [ "$mode" = small ]; then "$host" cpu "$name" 0.5; fi
"$host" ssh "$name" bash /root/kubeadm-on-host.sh "${mode/small/idle}" | sed "s/^{/{\"tool\": \"kubeadm\", \"mode\": \"$mode\", /"
