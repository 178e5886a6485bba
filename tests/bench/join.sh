#!/usr/bin/env bash
# Lets many workers join at the same time, without their kubelets: join.sh JOIN BINARY [APPROVER [COUNT [HOST [IP]]]]; JOIN is the program of
# join/, APPROVER agent or, for a cluster with `agent.enabled: false`, kubernetes.
# Prints the measurements, a model of 5000 workers, and one summary line.
set -euo pipefail
# shellcheck source=common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
join=${1:?JOIN}
binary=${2:?BINARY}
approver=${3:-agent}
count=${4:-300}
name=${5:-k1}
ip=${6:-10.77.0.41}

export LAB_IMPORTED=1
fresh_host "$name" "$ip"
"$host" ssh "$name" mkdir -p /etc/nodeinit/conf.d
"$host" copy "$name" "$(release_dir)/cluster.yaml" /etc/nodeinit/config.yaml
"$lab/machines.sh" "$name" | "$host" ssh "$name" 'cat >/etc/nodeinit/conf.d/10-machines.yaml'
if [ "$approver" = agent ]; then enabled=true; else enabled=false; fi
echo "agent: {enabled: $enabled}" | "$host" ssh "$name" 'cat >/etc/nodeinit/conf.d/20-agent.yaml'
"$host" copy "$name" "$binary" /usr/local/bin/nodeinit
"$host" ssh "$name" nodeinit up >&2
files=$(mktemp -d)
# shellcheck disable=SC2064
trap "'$host' down '$name'; rm -r '$files'" EXIT
for file in super-admin.conf pki/ca.crt; do
  "$host" ssh "$name" cat "/etc/kubernetes/$file" >"$files/$(basename "$file")"
done

# Processor time that the control plane has used, in hundredths of a second.
cat >"$files/sample" <<END
#!/bin/sh
'$host' ssh '$name' 'for p in kube-apiserver etcd kube-controller; do
  awk -v when='\$1' -v name=\$p "{print when, name, \\\$14 + \\\$15}" /proc/\$(pgrep -x \$p)/stat; done' >>'$files/samples'
END
chmod +x "$files/sample"
JOIN_SAMPLE=$files/sample "$join" run "$files" "$ip" "$count" "$approver" | tee "$files/result"

used() { # FROM TO NAME...: processor seconds per worker
  local from=$1 to=$2
  shift 2
  awk -v from="$from" -v to="$to" -v names=" $* " -v count="$count" \
    'index(names, " " $2 " ") {if ($1 == from) t -= $3; if ($1 == to) t += $3} END {printf "%.5f", t / 100 / count}' "$files/samples"
}
handshake=$(used joined connected kube-apiserver)
served=$(used before joined kube-apiserver etcd)
manager=$(used before joined kube-controller)
# Of the load of the API server and etcd, about one half is from the workers' requests, the other half from controllers.
awk -v h="$handshake" -v s="$served" -v m="$manager" 'BEGIN {
  half = s > h ? (s - h) / 2 : 0
  printf "{\"handshake\": %.5f, \"requests\": %.5f, \"controllers\": %.5f}\n", h, half, half + m}' | tee "$files/costs"

# Every request with a bootstrap token, from the API server's audit log.
asked=$("$host" ssh "$name" 'cat /var/log/kubernetes/audit/*.log' | grep '"username":"system:bootstrap:' |
  grep -c '"stage":"ResponseComplete"')
echo "requests with a bootstrap token in the audit log: $asked"
if [ "$approver" = agent ]; then
  # shellcheck disable=SC2016
  "$host" ssh "$name" 'grep -E "^(VmRSS|VmHWM|RssAnon):" "/proc/$(systemctl show nodeinit-agent -p MainPID --value)/status"' |
    tr -s '\t ' ' ' | sed 's/^/agent: /'
fi
echo "a model of 5000 workers with these costs:"
"$join" model "$files/costs" 5000
python3 - "$files/result" "$asked" "$approver" <<'END'
import json, sys
result = json.load(open(sys.argv[1]))
each = int(sys.argv[2]) / result["workers"]
print(f"approved by {sys.argv[3]}: join {result['joined']}/{result['workers']}, {each:g} requests each, last after {result['last']:.1f} s")
END
