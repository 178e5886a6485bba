#!/usr/bin/env bash
# Checks the pod network of a cluster: check-pods.sh [MASTER]; every pod connects to every other pod by address, and to their Service by DNS name.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
master=${1:-m1}
nodes=$("$here/host.sh" ssh "$master" "kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes -o jsonpath='{.items[*].metadata.name}'")
for node in $nodes; do # import the image of the pods
  "$here/host.sh" ssh "$node" 'ctr -n k8s.io images import /opt/lab/images/tools.tar >/dev/null'
done
"$here/host.sh" copy "$master" "$here/pods.yaml" /root/pods.yaml
"$here/host.sh" ssh "$master" bash -es <<'END'
export KUBECONFIG=/etc/kubernetes/admin.conf
kubectl apply -f /root/pods.yaml >/dev/null
kubectl rollout status daemonset/echo --timeout=120s >/dev/null
kubectl get pods -l app=echo -o jsonpath='{range .items[*]}{.metadata.name} {.status.podIP} {.spec.nodeName}{"\n"}{end}' >/root/pods
ask() { kubectl exec "$1" -- curl -s -m 5 "$2" </dev/null 2>/dev/null || echo FAILED; }
good=0 bad=0
while read -r from _ from_node; do
  while read -r _ ip to_node; do
    answer=$(ask "$from" "$ip:8080")
    if [ "$answer" = "$to_node" ]; then good=$((good + 1)); else bad=$((bad + 1)); echo "from $from_node to $to_node: '$answer'"; fi
  done </root/pods
  for _ in $(seq 20); do # the new Service needs a few seconds to reach all nodes
    [ "$(ask "$from" http://echo.default.svc.cluster.local)" = FAILED ] || break
    sleep 0.5
  done
  names=$(for _ in 1 2 3 4 5 6; do ask "$from" http://echo.default.svc.cluster.local; done | sort -u | xargs)
  case $names in *FAILED*) bad=$((bad + 1)) ;; *) good=$((good + 1)) ;; esac
  echo "a pod on $from_node asked the service echo by name and was answered from: $names"
done </root/pods
echo "pod network: $good good, $bad bad"
kubectl delete -f /root/pods.yaml --wait=false >/dev/null
rm -f /root/pods /root/pods.yaml
[ "$bad" = 0 ]
END
