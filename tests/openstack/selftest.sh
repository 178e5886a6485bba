#!/usr/bin/env bash
# Checks the statements of README.md about the cloud, in a separate project: servers boot and follow Nova; balancers, floating IPs, security groups
# and faults work; nothing stays behind, even after a kill -9. Restarts Keystone twice and Glance once.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
export OSLAB_PROJECT=selftest
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=services.sh
. "$here/services.sh"
cloud() { "$here/cloud.sh" "$@"; }
ok() { printf '%4d s  ok: %s\n' "$SECONDS" "$*"; }
expect() { # WHAT COMMAND...
  local what=$1
  shift
  "$@" || die "selftest: failed: $what"
  ok "$what"
}
soon() { # SECONDS WHAT COMMAND...
  local seconds=$1 what=$2
  shift 2
  wait_for "$seconds" "$@" || die "selftest: timed out after $seconds s: $what"
  ok "$what"
}
no() { ! "$@"; }
of() { echo "$@" | awk '{print $1}'; } # the first word of an answer

only_one openstack-tests
cloud up
was_on=
! is_alive "$state/run/guests" || was_on=1
mkdir -p "$state/instances/unknown-to-nova"
cloud sweep
expect "the hypervisor's files of a server unknown to Nova are removed" [ ! -e "$state/instances/unknown-to-nova" ]
cloud guests on
work=$state/selftest
rm -rf "$work"
mkdir -p "$work"
trap 'cloud heal || true; cloud sweep || true; [ -n "$was_on" ] || cloud guests off' EXIT

cat >"$work/user-data" <<'YAML'
#cloud-config
write_files:
- {path: /srv/index.html, content: "from write_files"}
runcmd:
- hostname >/srv/name
- [systemd-run, --unit=web, python3, -m, http.server, "6443", --directory, /srv]
- [systemd-run, --unit=other, python3, -m, http.server, "8080", --directory, /srv]
YAML
begin=$(cloud mark)
in_root python3 - >"$work/made" <<'PYTHON'
import base64, openstack, time
cloud = openstack.connect(cloud="selftest", compute_api_version="2.67")
network = cloud.network.create_network(name="selftest")
subnet = cloud.network.create_subnet(name="selftest", network_id=network.id, ip_version=4, cidr="10.77.0.0/24", gateway_ip="10.77.0.1",
                                     enable_dhcp=False, allocation_pools=[{"start": "10.77.0.180", "end": "10.77.0.199"}])
public = cloud.network.find_network("public")
router = cloud.network.create_router(name="selftest", external_gateway_info={"network_id": public.id})
# The gateway's address belongs to the machine: the router has it only in Neutron.
cloud.network.add_interface_to_router(router, subnet_id=subnet.id)
group = cloud.network.create_security_group(name="selftest")
def rule(**what):
    return cloud.network.create_security_group_rule(security_group_id=group.id, direction="ingress", protocol="tcp", **what).id
rules = {"ssh": rule(port_range_min=22, port_range_max=22, remote_ip_prefix="10.77.0.1/32"),
         "balancer": rule(port_range_min=6443, port_range_max=6443, remote_ip_prefix="10.77.0.190/32"),
         "group": rule(port_range_min=6443, port_range_max=6443, remote_group_id=group.id)}
image, flavor = cloud.image.find_image("nodeinit-image"), cloud.compute.find_flavor("nodeinit-node")
servers = []
for name, address in ("one", "10.77.0.181"), ("two", "10.77.0.182"):
    port = cloud.network.create_port(name=name, network_id=network.id, fixed_ips=[{"ip_address": address}], security_group_ids=[group.id])
    volume = cloud.block_storage.create_volume(name=name, size=1, image_id=image.id)
    servers.append((name, port, volume))
for name, port, volume in servers:
    while cloud.block_storage.get_volume(volume).status != "available":
        time.sleep(0.2)
    server = cloud.compute.create_server(
        name=name, flavor_id=flavor.id, key_name="nodeinit", networks=[{"port": port.id}], config_drive=True,
        user_data=base64.b64encode(open("/oslab/selftest/user-data", "rb").read()).decode(), tags=["selftest"], metadata={"role": name},
        block_device_mapping=[{"boot_index": 0, "uuid": volume.id, "source_type": "volume", "destination_type": "volume"}])
    print(name, server.id)
    print(f"{name}-port", port.id)
lb = cloud.load_balancer
balancer = lb.create_load_balancer(name="selftest", vip_subnet_id=subnet.id, vip_address="10.77.0.190")
def settle():
    while lb.get_load_balancer(balancer.id).provisioning_status != "ACTIVE":
        time.sleep(0.2)
settle()
listener = lb.create_listener(name="selftest", protocol="TCP", protocol_port=6443, load_balancer_id=balancer.id); settle()
pool = lb.create_pool(name="selftest", protocol="TCP", lb_algorithm="ROUND_ROBIN", listener_id=listener.id); settle()
for name, address in ("one", "10.77.0.181"), ("two", "10.77.0.182"):
    member = lb.create_member(pool, name=name, address=address, protocol_port=6443, subnet_id=subnet.id); settle()
    print(f"{name}-member", member.id)
lb.create_health_monitor(name="selftest", type="TCP", delay=1, timeout=1, max_retries=1, max_retries_down=1, pool_id=pool.id); settle()
vip = cloud.network.create_ip(floating_network_id=public.id, port_id=lb.get_load_balancer(balancer.id).vip_port_id)
direct = cloud.network.create_ip(floating_network_id=public.id, port_id=servers[0][1].id)
print("balancer", balancer.id)
print("pool", pool.id)
print("vip", vip.floating_ip_address)
print("direct", direct.floating_ip_address)
for name, id_ in rules.items():
    print(f"{name}-rule", id_)
print("project", cloud.current_project_id)
print("token", cloud.auth_token)
PYTHON
declare -A made=()
while read -r key value; do made[$key]=$value; done <"$work/made"
ok "two servers, their network, a balancer and two floating IPs are created"

call() { # URL CURL-ARGUMENT...: prints the answer, and its status at the end
  local url=http://127.0.0.1:$1
  shift
  curl -sS -m 30 -w '\n%{http_code}\n' -H "X-Auth-Token: ${made[token]}" -H 'Content-Type: application/json' "$url" "$@" 2>&1 || true
}
status() { call "$@" | tail -n 1; }
nova=18774/v2.1 cinder=18776/v3/${made[project]} neutron=19696/v2.0 octavia=19876/v2.0/lbaas
server_is() { call "$nova/servers/${made[$1]}" | grep -q "\"status\": \"$2\""; }
on() { # NAME COMMAND...: with the keypair, and only the host keys of the console log
  local address=10.77.0.181
  [ "$1" = one ] || address=10.77.0.182
  [ -s "$work/known-$1" ] || { keys "$1" | sed "s/^/$address /" >"$work/known-$1"; }
  ssh -n -i "$state/nodeinit.pem" -o UserKnownHostsFile="$work/known-$1" -o StrictHostKeyChecking=yes -o BatchMode=yes -o ConnectTimeout=3 \
    -o LogLevel=ERROR "debian@$address" "${@:2}"
}
keys() {
  call "$nova/servers/${made[$1]}/action" -d '{"os-getConsoleOutput": {}}' | head -n -1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["output"])' |
    tr -d '\r' | sed -n '/^-*BEGIN SSH HOST KEY KEYS/,/^-*END/p' | grep -oE '^(ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/=]+'
}
for name in one two; do
  soon 120 "$name boots; SSH with the keypair and the host keys of the console's log" on $name true
  soon 60 "$name: user data is done" on $name test -e /srv/name
done
expect "the servers have their name and user-data" [ "$(on one 'cat /srv/name /srv/index.html')" = "one
from write_files" ]
expect "the metadata service recognizes the server" [ "$(on two curl -sf http://169.254.169.254/openstack/latest/meta_data.json | grep -o '"role": "[a-z]*"')" = '"role": "two"' ]
cloud userdata "$work/fetched"
expect "the user-data is unchanged" cmp "$work/user-data" "$work/fetched/one"

vip() { curl -sf -m 3 "http://$1:6443/name"; }
both() { [ "$(for _ in {1..8}; do vip "$1"; done | sort -u | xargs)" = "one two" ]; }
soon 10 "the balancer forwards to both servers" both 10.77.0.190
soon 10 "the floating IP of the balancer forwards to both servers" both "${made[vip]}"
expect "the floating IP is reachable from a guest" on one curl -sf -o /dev/null -m 3 "http://${made[vip]}:6443/name"
expect "the floating IP of a server forwards to it" eval "ssh-keyscan -T 3 ${made[direct]} 2>/dev/null | grep -qF '$(keys one | head -n 1)'"
on two sudo systemctl stop web
member_is() { call "$octavia/pools/${made[pool]}/members/${made[$1-member]}" | grep -q "\"operating_status\": *\"$2\""; }
soon 30 "Octavia reports a failed member" member_is two ERROR

port() { on "$1" curl -s -o /dev/null -m 2 "http://$2"; }
expect "a rule with a remote group allows guests" port two 10.77.0.181:6443
expect "a guest cannot reach a port without a rule" no port two 10.77.0.181:8080
expect "the machine cannot reach a port without a rule" no curl -s -m 2 http://10.77.0.181:6443
expect "the lab itself has access" [ "$(cloud ssh one hostname)" = one ]
expect "a rule is deleted" [ "$(status "$neutron/security-group-rules/${made[group-rule]}" -X DELETE)" = 204 ]
soon 10 "the deleted rule has no effect" no port two 10.77.0.181:6443
cloud ssh one 'ip address add 10.77.0.195/32 dev host0'
foreign() { cloud ssh one 'ping -c 1 -W 1 -q -I 10.77.0.195 10.77.0.1' >/dev/null 2>&1; }
expect "packets from an address that does not belong to the port are dropped" no foreign
call "$neutron/ports/${made[one-port]}" -X PUT -d '{"port": {"allowed_address_pairs": [{"ip_address": "10.77.0.195"}]}}' >/dev/null
soon 10 "packets from an allowed address pair pass" foreign

call "$nova/servers/${made[two]}/action" -d '{"os-stop": null}' >/dev/null
soon 60 "a server stops" server_is two SHUTOFF
soon 60 "the host of the server stops" no ping -c 1 -W 1 -q 10.77.0.182
call "$nova/servers/${made[two]}/action" -d '{"os-start": null}' >/dev/null
soon 90 "the server starts again with its disk and host keys" on two test -e /srv/name

expect "two requests are answered with 503" [ "$(cloud answer nova 503 --times 2; for _ in 1 2 3; do status "$nova/servers"; done | xargs)" = "503 503 200" ]
cloud answer neutron lost --times 1 --method POST --path /networks
expect "an answer is lost" [ "$(status "$neutron/networks" -d '{"network": {"name": "lost"}}')" = 000 ]
expect "the service executed the request" [ "$(cloud objects | grep -c ' lost$')" = 1 ]
cloud answer cinder hang --seconds 20
expect "a request gets no answer" [ "$(status "$cinder/volumes" -m 2)" = 000 ]
cloud answer cinder off
cloud fail volume 'bad.*'
volume=$(call "$cinder/volumes" -d '{"volume": {"size": 1, "name": "bad-1"}}' | grep -oE '"id": "[0-9a-f-]{36}"' | head -n 1 | cut -d'"' -f4)
volume_is() { call "$cinder/volumes/$volume" | grep -q "\"status\": \"$1\""; }
soon 20 "a volume ends in error" volume_is error
cloud fail server 'bad.*'
call "$nova/servers" -d "{\"server\": {\"name\": \"bad-2\", \"flavorRef\": \"$(call "$nova/flavors" | grep -oE '"id": "[0-9a-f-]{36}"' | cut -d'"' -f4)\", \"networks\": \"none\", \"block_device_mapping_v2\": [
  {\"boot_index\": 0, \"uuid\": \"$(call 19292/v2/images | grep -oE '"id": "[0-9a-f-]{36}"' | cut -d'"' -f4)\", \"source_type\": \"image\", \"destination_type\": \"volume\", \"volume_size\": 1}]}}" \
  -H 'OpenStack-API-Version: compute 2.67' >"$work/bad"
made[bad]=$(grep -oE '"id": "[0-9a-f-]{36}"' "$work/bad" | head -n 1 | cut -d'"' -f4)
soon 60 "a server ends in ERROR" server_is bad ERROR
expect "Nova reports the reason" grep -q 'told to fail' <(call "$nova/servers/${made[bad]}")
cloud state loadbalancer selftest PENDING_UPDATE
expect "a balancer in a pending state refuses changes" [ "$(status "$octavia/loadbalancers/${made[balancer]}" -X PUT -d '{"loadbalancer": {"name": "selftest"}}')" = 409 ]
cloud state loadbalancer selftest ACTIVE
cloud quota network=+0
expect "a quota is used up" [ "$(status "$neutron/networks" -d '{"network": {"name": "more"}}')" = 409 ]
cloud quota default
cloud stop glance
expect "a service is down" [ "$(status 19292/v2/images)" = 000 ]
cloud start glance
cloud catalogue load-balancer off
expect "Octavia is not in the catalogue" [ "$(cloud os catalog list -f value -c Type | grep -c load-balancer)" = 0 ]
cloud catalogue load-balancer on
old=${made[token]}
cloud tokens 3
made[token]=$(cloud os token issue -f value -c id)
sleep 3
expect "a token of three seconds is refused after them" [ "$(status "$neutron/networks")" = 401 ]
made[token]=$old
cloud tokens 3600
cloud strangers selftest >"$work/strangers"
expect "the objects of other users still exist" [ -z "$(sort "$work/strangers" | comm -23 - <(cloud objects | sort))" ]

expect "a client that trusts the CA can use the region with TLS" curl -sf -o /dev/null --cacert "$OSLAB_DIR/ca.pem" https://127.0.0.1:25000/v3
expect "a client that does not trust the CA cannot" no curl -s -o /dev/null https://127.0.0.1:25000/v3
expect "there is a second zone" [ "$(cloud os availability zone list --compute -f value -c "Zone Name" | xargs)" = "nova nova-2" ]

mark=$(cloud mark)
status "$nova/servers" >/dev/null
expect "a read request is in the log of calls" [ "$(cloud calls "$mark" | grep -c ' nova GET /v2.1/servers 200 ')" = 1 ]
expect "a read request is not a write" [ -z "$(cloud writes "$mark")" ]
expect "write requests are counted" [ "$(cloud writes "$begin" | grep -c '^nova POST /v2.1/servers$')" = 4 ]

for name in guests wires nova-conductor; do kill -KILL "$(of "$(cat "$state/run/$name")")"; done
cloud up
cloud guests on
expect "after kill -9, all services run again" no grep -q down <(cloud status)
soon 10 "the balancer works again" vip 10.77.0.190
expect "the guests run" on one true
host=vm-${made[two]:0:8}
status "$nova/servers/${made[two]}" -X DELETE >/dev/null
soon 60 "the host of a deleted server is removed" test ! -e "$LAB_DIR/hosts/$host"
cloud sweep
expect "nothing is left in the project" [ -z "$(cloud objects)" ]
soon 60 "no host is left" test ! -e "$LAB_DIR/hosts/vm-${made[one]:0:8}"
address() { ip -br -4 address show labbr0 | grep -q 10.77.0.190; }
soon 10 "the balancer's address is gone" no address
if [ -z "$was_on" ]; then
  cloud guests off
  expect "nothing is left on the machine" no grep -q oslab <(in_root nft list tables)
fi
