#!/usr/bin/env bash
# What a good script around kubeadm does on the host, in place of packages and a package manager:
# artifacts (programs and images) | prepare (those and the units) | init-ha | init | fresh; the last two print their times as JSON.
set -euo pipefail
export KUBECONFIG=/etc/kubernetes/admin.conf

artifacts() {
  install -m 755 /opt/lab/bin/kubelet /opt/lab/bin/kubeadm /opt/lab/bin/kubectl /usr/bin/
  install -D -m 755 -t /opt/cni/bin /opt/lab/bin/bridge /opt/lab/bin/host-local /opt/lab/bin/loopback /opt/lab/bin/portmap
  [ -z "$(ctr -n k8s.io images ls -q)" ] || return 0 # the host has them already
  for image in /opt/lab/images/*.tar; do ctr -n k8s.io images import "$image" >/dev/null; done
}

units() {
  mkdir -p /etc/systemd/system/kubelet.service.d /etc/kubernetes/manifests
  cat >/etc/systemd/system/kubelet.service <<'UNIT'
[Unit]
Description=kubelet
After=containerd.service
[Service]
ExecStart=/usr/bin/kubelet
Restart=always
StartLimitInterval=0
RestartSec=10
[Install]
WantedBy=multi-user.target
UNIT
  cat >/etc/systemd/system/kubelet.service.d/10-kubeadm.conf <<'UNIT'
[Service]
Environment="KUBELET_KUBECONFIG_ARGS=--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
Environment="KUBELET_CONFIG_ARGS=--config=/var/lib/kubelet/config.yaml"
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
ExecStart=
ExecStart=/usr/bin/kubelet $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS
UNIT
  systemctl daemon-reload
  systemctl enable -q kubelet
  echo net.ipv4.ip_forward=1 >/etc/sysctl.d/99-kubernetes.conf
  sysctl -q -p /etc/sysctl.d/99-kubernetes.conf
}

init() { kubeadm init --config /root/kubeadm.yaml --ignore-preflight-errors=SystemVerification "$@" >&2; }

start=${EPOCHREALTIME/./}
since() { local t=$((${EPOCHREALTIME/./} - start)); printf '%d.%03d' $((t / 1000000)) $((t / 1000 % 1000)); }

case $1 in
artifacts)
  artifacts
  exit
  ;;
prepare)
  artifacts
  units
  exit
  ;;
init-ha)
  init --upload-certs
  # A virtual IP may move while its first holder starts.
  until kubectl get --raw /readyz >/dev/null 2>&1; do sleep 0.5; done
  kubectl apply -f /root/kube-flannel.yaml >&2
  exit
  ;;
init)
  init --skip-phases=addon
  ;;
fresh)
  artifacts
  units
  prepared=$(since)
  init
  initialised=$(since)
  kubectl apply -f /root/kube-flannel.yaml >&2
  kubectl wait --for=condition=Ready node --all --timeout=300s >&2
  kubectl -n kube-flannel rollout status daemonset/kube-flannel-ds --timeout=300s >&2
  kubectl -n kube-system rollout status daemonset/kube-proxy --timeout=300s >&2
  kubectl -n kube-system rollout status deployment/coredns --timeout=300s >&2
  ;;
esac
total=$(since)
# The mirror pods of the control plane appear shortly after it answers.
for _ in $(seq 50); do [ "$(kubectl get pods -A --no-headers 2>/dev/null | wc -l)" -lt 4 ] || break; sleep 0.2; done
restarts=$(kubectl get pods -A -o jsonpath='{.items[*].status.containerStatuses[*].restartCount}' | tr ' ' '\n' | awk '{s += $1} END {print s + 0}')
backoffs=$(journalctl -u kubelet --no-pager | grep -c CrashLoopBackOff) || true
printf '{"seconds": %s, "prepared": %s, "initialised": %s, "restarts": %s, "backoffs": %s}\n' \
  "$total" "${prepared:-0}" "${initialised:-$total}" "$restarts" "$backoffs"
