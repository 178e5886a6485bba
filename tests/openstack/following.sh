# shellcheck shell=bash
# Guests: servers that really boot. guests.sh follows the state in Nova; the service wires implements balancers, floating IPs and metadata on the bridge.
# shellcheck disable=SC2154 # lib.sh
# shellcheck source=../lab/network.sh
. "$cloud/../lab/network.sh"

guests_on() {
  running nova || die "the cloud is not up: cloud.sh up"
  is_alive "$state/run/guests" || start_following
  start wires
}

start_following() {
  "$lab/prepare.sh" >/dev/null
  [ -z "${LAB_IMPORTED:-}" ] || "$lab/imported.sh" >/dev/null
  end_following
  mkdir -p "$state/guests" "$OSLAB_DIR/image" "$LAB_DIR/servers"
  (
    note_process "$BASHPID" >"$state/run/guests"
    cp "$state/run/guests" "$LAB_DIR/servers/openstack" # keeps the bridge while no host is connected to it
    exec setsid "$cloud/guests.sh"
  ) >>"$state/log/guests.log" 2>&1 </dev/null 8>&- &
  until [ -s "$state/run/guests" ] && [ -s "$LAB_DIR/servers/openstack" ]; do sleep 0.01; done
  network_lock "$lab/host.sh" make-network
}

end_following() { # guests.sh ends cleanly when its record is gone; so do the remaining processes of a killed one
  local leader
  read -r leader _ 2>/dev/null <"$state/run/guests" || return 0
  rm "$state/run/guests"
  while [ -n "$(ps -o pid= -s "$leader")" ]; do sleep 0.1; done
}

guests_off() { # removes hosts, addresses and rules, even if the processes that created them were killed
  local path names=()
  end_following
  stop wires
  ! ip link show labbr0 >/dev/null 2>&1 || in_root python3 -m oslab_wires clear
  for path in "$state"/guests/*; do
    [ ! -e "$path" ] || names+=("$(host_of "${path##*/}")")
  done
  [ ${#names[@]} = 0 ] || "$lab/host.sh" down "${names[@]}"
  rm -rf "$state/guests" "$LAB_DIR/servers/openstack"
  network_lock "$lab/host.sh" remove-network
}

host_of() { echo "vm-${1:0:8}"; }

guests_list() { # HOST ID ADDRESS NAME
  local path id
  for path in "$state"/instances/*/power; do
    [ -e "$path" ] || continue
    id=$(basename "$(dirname "$path")")
    echo "$(host_of "$id") $id $(cat "$state/instances/$id/address") $(cat "$state/instances/$id/name")"
  done
}

guest_named() { # SERVER: prints the host of a server, given by name, by id or by host
  local found
  found=$(guests_list | awk -v name="$1" '$1 == name || $2 == name || $4 == name {print $1}')
  [ "$(wc -w <<<"$found")" = 1 ] || die "$1 names $(wc -w <<<"$found") guests, not one, of: $(guests_list | awk '{print $4}' | xargs)"
  echo "$found"
}
