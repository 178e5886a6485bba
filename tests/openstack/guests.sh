#!/usr/bin/env bash
# Boots a lab host for each server and follows the state of the server; `cloud.sh guests on` starts it, `guests off` ends it.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=lib.sh
. "$here/lib.sh"
orders=$state/guests # a file for each server that has or had a host, with the last executed order
record=$state/run/guests
me=$(note_process $$)
say() { printf '%(%T)T  %s\n' -1 "$*"; }
lines() { [ -e "$1" ] && echo "$(<"$1")"; } 2>/dev/null
ours() { [ "$(lines "$record")" = "$me" ] && is_alive "$record"; } # false after a stop, or when another process has taken over

# Copies the last part of the host's console, because a hypervisor keeps no more.
console() { # HOST ID
  local from=$LAB_DIR/hosts/$1/console to=$state/instances/$2/console.log
  if [ ! -e "$from" ] || [ "$from" -ot "$to" ] || [ -e "${to%.log}.pinned" ]; then return; fi
  { tail -c 102400 "$from" >"$to.new" && mv "$to.new" "$to"; } 2>/dev/null || true
}

# Executes Nova's order for a server.
obey() { # HOST ID ORDER
  local dir=$state/instances/$2
  case $3 in
  gone) "$lab/host.sh" down "$1" && rm -rf "$dir" "${orders:?}/$2" && return ;;
  reset*) [ ! -e "$LAB_DIR/hosts/$1/made" ] || "$lab/host.sh" kill "$1" ;;
  *) [ ! -e "$LAB_DIR/hosts/$1/made" ] || "$lab/host.sh" stop "$1" ;;
  esac
  case $3 in
  on* | reset*)
    case $(<"$dir/address") in 10.77.0.*) ;; *) say "$1 is not booted, because its address is outside the network of the lab"; echo "$3" >"$orders/$2"; return ;; esac
    LAB_BAKED=$OSLAB_DIR/image "$lab/host.sh" start "$1" "$(<"$dir/address")" "$dir/config-drive" || return
    ;;
  esac
  echo "$3" >"$orders/$2"
}

# Follows one server until it is deleted, one order after another.
guest() { # ID
  local id=$1 name=vm-${1:0:8} order
  while ours; do
    order=$(lines "$state/instances/$id/power") || order=gone
    if [ "$order" != "$(lines "$orders/$id")" ]; then
      say "$name $(lines "$state/instances/$id/name"): ${order% *}"
      obey "$name" "$id" "$order" || { say "$name: failed; next try in 3 s"; sleep 3; }
      [ "$order" != gone ] || [ -e "$orders/$id" ] || return 0
    fi
    console "$name" "$id"
    sleep 0.5
  done
}

declare -A followers=()
while ours; do
  for path in "$state"/instances/*/power "$orders"/*; do
    [ -e "$path" ] || continue
    id=${path%/power}
    id=${id##*/}
    kill -0 "${followers[$id]:-none}" 2>/dev/null || { guest "$id" & followers[$id]=$!; }
  done
  sleep 0.5
done
wait
