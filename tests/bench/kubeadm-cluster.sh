# shellcheck shell=bash
# Stock kubeadm on the hosts $names: three masters and two workers. LAB_ENDPOINT=HOST:PORT is a load balancer; without it, the first master is the endpoint.
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
token=abcdef.0123456789abcdef
certificate_key=$(printf '%064d' 1)

on_host() { "$host" ssh "$1" bash /root/kubeadm-on-host.sh "$2" >&2; }
prepare() { on_host "$1" prepare; }
copy_kubeadm_files() {
  local name
  for name in "${names[@]}"; do "$host" copy "$name" "$bench/kubeadm-on-host.sh" /root/; done
  "$bench/kubeadm-config.sh" "${names[0]}" "$(address_of "${names[0]}")" "$token" "$certificate_key"
  "$host" copy "${names[0]}" "$bench/kube-flannel.yaml" /root/
}
join() { # NAME FLAGS...
  "$host" ssh "$1" kubeadm join "${LAB_ENDPOINT:-$(address_of "${names[0]}"):6443}" --token $token --discovery-token-unsafe-skip-ca-verification \
    --ignore-preflight-errors=SystemVerification "${@:2}" >&2
}
join_all() { # the masters one after the other, as etcd requires of kubeadm; both workers in parallel
  local name job jobs=()
  for name in "${names[@]:3}"; do
    join "$name" &
    jobs+=($!)
  done
  for name in "${names[@]:1:2}"; do
    join "$name" --control-plane --certificate-key "$certificate_key" --apiserver-advertise-address "$(address_of "$name")"
    say "$name joined"
  done
  for job in "${jobs[@]}"; do wait "$job"; done
}
