#!/usr/bin/env bash
# A real OpenStack API on this machine, whose servers are hosts of the lab.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=services.sh
. "$here/services.sh"
# shellcheck source=following.sh
. "$here/following.sh"

usage() {
  cat <<END
usage: cloud.sh VERB ...
  up                      starts what is not running, and makes what is absent; then clouds demo, nodeinit and admin of
                          $OSLAB_DIR/clouds.yaml let in
  down                    stops all; the cloud's objects stay
  reset                   a new cloud in place of the old one
  status                  SERVICE PORT up|down, a line each
  stop|start SERVICE...   one service
  guests on|off           boots a host of the lab for each server and follows it; removes those hosts. LAB_IMPORTED as in tests/lab
  guests                  HOST ID ADDRESS NAME of each server, a line each
  ssh NAME COMMAND...     runs a command as root in the guest of the server NAME, past all security groups
  copy NAME FILE... DEST  copies files into it
  groups on|off           security groups and port security are enforced (on), or only stored
  bake FILE PATH          FILE is at PATH of every guest that is made from now on, as if it were in the image
  os ARGUMENT...          OpenStack's own client, as OS_CLOUD (demo)
END
}

verb=${1:-help}
[ $# = 0 ] || shift
case $verb in help | -h | --help) usage; exit 0 ;; esac
[ "$(id -u)" = 0 ] || die "the cloud needs root rights; try sudo"
case $verb in
up) up ;;
down)
  guests_off
  down
  ;;
reset)
  guests_off
  down
  rm -rf --one-file-system "$state"
  up
  ;;
status)
  for service in $services; do echo "${service%:*} ${service#*:} $(running "${service%:*}" && echo up || echo down)"; done
  ;;
stop) for service in "$@"; do stop "$service"; done ;;
start) for service in "$@"; do start_and_wait "$service"; done ;;
guests)
  case ${1:-} in on) guests_on ;; off) guests_off ;; '') guests_list ;; *) die "guests on, guests off, or guests" ;; esac
  ;;
ssh | copy) LAB_FROM=10.77.0.2 "$lab/host.sh" "$verb" "$(guest_named "${1:?NAME}")" "${@:2}" ;;
groups)
  case ${1:-} in on) rm -f "$state/groups.off" ;; off) touch "$state/groups.off" ;; *) die "groups on, or groups off" ;; esac
  ;;
bake) install -D "${1:?FILE}" "$OSLAB_DIR/image/${2:?PATH}" ;;
os) in_root openstack --os-cloud "${OS_CLOUD:-demo}" "$@" ;;
*)
  usage >&2
  exit 64
  ;;
esac
