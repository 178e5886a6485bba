# shellcheck shell=bash
# Inspects the cloud for tests and injects faults. The parts in Python are in oslab_admin.py.
# shellcheck disable=SC2154 # lib.sh
admin() { in_root python3 -m oslab_admin "$@"; }

# A mark is the current length of each log.
logs=(calls keystone glance neutron cinder nova octavia)
mark() {
  local log
  for log in "${logs[@]}"; do stat -c %s "$state/log/$log.log" 2>/dev/null || echo 0; done | paste -sd,
}
since() { # MARK LOG: prints the part of the log since the mark
  local offsets index
  IFS=, read -ra offsets <<<"$1"
  [ ${#offsets[@]} = ${#logs[@]} ] || die "$1 is not a mark: use the output of cloud.sh mark"
  for index in "${!logs[@]}"; do
    [ "${logs[index]}" != "$2" ] || tail -c +$((offsets[index] + 1)) "$state/log/$2.log"
  done
}
# Prints the write requests from the logs of the services: those of clients, and those between services. A request for a token is not a write.
writes() { # MARK
  local log
  for log in "${logs[@]:1}"; do
    since "$1" "$log" | grep -aoE '(\] |")(POST|PUT|PATCH|DELETE) /[^ ]*' | sed -E "s/^[^A-Z]*/$log /" | grep -vE '^keystone POST /v3/auth/tokens' || true
  done
}

userdata() { # DIR
  local name content
  mkdir -p "$1"
  admin userdata | while read -r name content; do base64 -d <<<"$content" >"$1/$name"; done
}

# Makes the front door answer in place of a service.
answer() { # SERVICE DOES [--times N] [--seconds S] [--method M] [--path REGEX]
  local service=$1 does=${2:-}
  [ "$service" != off ] || { rm -f "$state"/faults/*.*; return; }
  case $does in off) rm -f "$state/faults/$service".*; return ;; [45][0-9][0-9] | lost | reset | hang) ;; *) die "answer $service 4xx, 5xx, lost, reset, hang or off" ;; esac
  [ -n "$(port_of "$service")" ] || die "there is no service $service"
  python3 - "$state/faults" "$@" <<'END'
import argparse, json, pathlib, sys, time
directory, service, *rest = sys.argv[1:]
parser = argparse.ArgumentParser(prog="cloud.sh answer SERVICE")
parser.add_argument("does")
parser.add_argument("--times", type=int)
parser.add_argument("--seconds", type=float)
parser.add_argument("--method")
parser.add_argument("--path")
order = vars(parser.parse_args(rest))
seconds = order.pop("seconds")
order["until"] = seconds and time.time() + seconds
new = pathlib.Path(directory, ".new")
new.write_text(json.dumps(order))
new.rename(pathlib.Path(directory, f"{service}.{time.time_ns()}"))
END
}

fail() { # server|volume REGEX|off
  case $1 in server | volume) ;; *) die "fail server or fail volume, not $1" ;; esac
  if [ "$2" = off ]; then rm -f "$state/faults/$1"; else echo "$2" >"$state/faults/$1"; fi
}

tokens() { # SECONDS; restarts Keystone
  sed -i "s/^expiration = .*/expiration = $1/" "$root/etc/keystone/keystone.conf"
  stop keystone
  start_and_wait keystone
}

unpin() { # PINNED...: shows the console of the host again, even if the host has written nothing since
  local pinned
  for pinned in "$@"; do
    [ -e "$pinned" ] || continue
    touch -d @0 "${pinned%.pinned}.log"
    rm -f "$pinned"
  done
}

console() { # NAME FILE|off
  local id
  id=$(guests_list | awk -v host="$(guest_named "$1")" '$1 == host {print $2}')
  if [ "$2" = off ]; then unpin "$state/instances/$id/console.pinned"; return; fi
  touch "$state/instances/$id/console.pinned"
  cp "$2" "$state/instances/$id/console.log"
}

faults_off() { # ends all faults and starts stopped services
  rm -f "$state"/faults/* "$state/groups.off"
  unpin "$state"/instances/*/console.pinned
  grep -qx 'expiration = 3600' "$root/etc/keystone/keystone.conf" || tokens 3600
  local service
  for service in $services; do running "${service%:*}" || start_and_wait "${service%:*}"; done
  admin catalogue load-balancer on
  admin quota default
}
