#!/usr/bin/env bash
# Writes kubeadm's configuration on a host, with the same settings for the lab's kernel as tests/lab/cluster.yaml:
# kubeadm-config.sh HOST IP [TOKEN CERTIFICATE-KEY], the last two if other machines will join. LAB_ENDPOINT=HOST:PORT is a load balancer.
set -euo pipefail
host=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/../lab/host.sh
name=$1
ip=$2
joining=
[ $# = 2 ] || printf -v joining '\nbootstrapTokens: [{token: %s}]\ncertificateKey: "%s"' "$3" "$4"
config() {
  cat <<END
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration$joining
localAPIEndpoint: {advertiseAddress: $ip}
nodeRegistration: {criSocket: unix:///run/containerd/containerd.sock}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $("$host" ssh "$name" /opt/lab/bin/kubelet --version | awk '{print $2}')
controlPlaneEndpoint: ${LAB_ENDPOINT:-$ip:6443}
networking: {podSubnet: 10.244.0.0/16}
---
apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
cgroupDriver: cgroupfs
failCgroupV1: false
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
