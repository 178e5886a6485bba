#!/usr/bin/env bash
# Checks the functions of the lab: several hosts, power cuts, limits, and cleanup after a kill -9.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
host=$here/host.sh
hosts=$LAB_DIR/hosts
state() { "$host" list | awk -v name="$1" '$1 == name {print $3}'; }
expect() { # WHAT COMMAND...
  local what=$1
  shift
  "$@" || die "selftest: failed: $what"
  echo "ok: $what"
}
gone() { [ ! -e "$hosts/$1" ] && ! mountpoint -q "$hosts/$1/root" && ! ip link show "vb-$1" >/dev/null 2>&1 && [ -z "$(find /sys/fs/cgroup -path "*nodeinit-lab/$1")" ]; }
trap '"$host" down t1 t2; [ -z "${owner:-}" ] || kill "$owner" 2>/dev/null || true' EXIT

only_one selftest
"$host" down t1 t2
"$host" up t1 10.77.0.91 &
"$host" up t2 10.77.0.92
wait $!
expect "two hosts boot at once" [ "$(state t1)$(state t2)" = upup ]
expect "they reach each other" "$host" ssh t1 'ping -c 1 -W 2 -q 10.77.0.92 >/dev/null'
round_trip() { "$host" ssh t1 'ping -c 3 -W 3 -q 10.77.0.92' | awk -F/ '/^rtt/ {print int($5)}'; }
"$host" delay t2 300
expect "a delay takes effect" [ "$(round_trip)" -ge 300 ]
expect "large files arrive complete with a delay" [ "$("$host" ssh t2 'head -c 9000000 /usr/bin/* 2>/dev/null | head -c 9000000' | wc -c)" = 9000000 ]
"$host" delay t2 off
expect "the delay ends" [ "$(round_trip)" -lt 100 ]
expect "an address is used only once" bash -c "! '$host' up t3 10.77.0.91 2>/dev/null"

"$host" ssh t1 'echo kept >/root/kept; sync'
"$host" kill t1
expect "a power cut stops the host" [ "$(state t1)" = down ]
before=$SECONDS
"$host" up t1
expect "the host boots again within 15 s" [ $((SECONDS - before)) -lt 15 ]
expect "the disk of the host is kept" "$host" ssh t1 test -e /root/kept

kill -KILL "$(cut -d' ' -f1 "$hosts/t1/process")"
"$host" gc 2>/dev/null
expect "after kill -9 of its supervisor the host is cleaned up" [ -e "$hosts/t1/made" ]
expect "none of the host's processes is left" [ -z "$(find /sys/fs/cgroup -path "*nodeinit-lab/t1")" ]

rm "$hosts/t1/made"
"$host" gc 2>/dev/null
expect "an incomplete host is removed" gone t1

sleep 1000 &
owner=$!
disown # otherwise bash would report its end
LAB_OWNER=$owner "$host" start t1 10.77.0.91
LAB_OWNER=$owner "$host" serve 8199 "$here"
kill -KILL $owner
while kill -0 $owner 2>/dev/null; do sleep 0.1; done
"$host" gc 2>/dev/null
expect "a host whose owner was killed is removed" gone t1
expect "the file server of the host is removed" [ ! -e "$LAB_DIR/servers/8199" ]
: >"$LAB_DIR/servers/8199" # as during its start
flock "$LAB_DIR/lock/server-8199" "$host" gc
expect "a starting server is not removed" [ -e "$LAB_DIR/servers/8199" ]
"$host" unserve 8199

sleep 1000 &
owner=$!
disown # otherwise bash would report its end
"$host" stop t2
echo "$owner 1" >"$hosts/t2/process" # as if the kernel had reused the id for another process
"$host" gc 2>/dev/null
expect "a process with a reused id is not killed" kill -0 $owner

"$host" up t2
"$host" disk t2 /mnt 64k
expect "a small disk becomes full" bash -c "! '$host' ssh t2 'dd if=/dev/zero of=/mnt/x bs=1k count=100 2>/dev/null'"
"$host" cpu t2 0.5
quota() { cat /sys/fs/cgroup/cpu/nodeinit-lab/t2/cpu.cfs_quota_us 2>/dev/null || cut -d' ' -f1 /sys/fs/cgroup/nodeinit-lab/t2/cpu.max; }
expect "the limit of half a core is set" [ "$(quota)" = 50000 ]
"$host" down t2
expect "a removed host leaves nothing" gone t2
