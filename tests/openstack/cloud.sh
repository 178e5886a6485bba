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
# shellcheck source=faults.sh
. "$here/faults.sh"

usage() {
  cat <<END
usage: cloud.sh VERB ...
  up                      starts what is not running, and makes what is absent; then clouds demo, nodeinit, tls, selftest and admin of
                          $OSLAB_DIR/clouds.yaml let in
  down                    stops all and removes the guests; the cloud's objects stay
  reset                   a new cloud in place of the old one
  status                  SERVICE PORT up|down, a line each; guests and wires are up with \`guests on\`
  stop|start SERVICE...   one service
  guests on|off           boots a host of the lab for each server and follows it; removes those hosts. LAB_IMPORTED as in tests/lab
  guests                  HOST ID ADDRESS NAME of each server, a line each
  ssh NAME COMMAND...     runs a command as root in the guest of the server NAME, past all security groups
  copy NAME FILE... DEST  copies files into it
  groups on|off           security groups and port security are enforced (on), or only stored
  bake FILE PATH          FILE is at PATH of every guest that is made from now on, as if it were in the image
  os ARGUMENT...          OpenStack's own client, as OS_CLOUD (or OSLAB_PROJECT)
looking:
  objects                 KIND ID NAME of all that the project (OSLAB_PROJECT, demo if unset) has; nothing of what the lab put there
  sweep                   deletes all that, whatever its state
  userdata DIR            writes each server's user-data, as Nova's API has it, to DIR/NAME
  mark                    prints a mark for the next two
  calls MARK              clients' calls since then, in the front door's log: TIME SERVICE METHOD PATH STATUS DURATION AGENT
  writes MARK             writing calls since then, in the services' own logs, tokens left out: SERVICE METHOD PATH
faults:
  answer SERVICE WHAT [--times N] [--seconds S] [--method M] [--path REGEX]
                          WHAT clients get in the service's stead: a status, reset (the connection ends), hang (no answer), lost (it is
                          done, and the answer is lost), off
  fail server|volume REGEX|off   those whose names match end in ERROR
  state server|volume|loadbalancer NAME STATE   puts it into STATE: error, creating, PENDING_UPDATE, ACTIVE...
  quota KEY=N|KEY=+N|default...  sets the project's quotas; +N is N more than are in use
  tokens SECONDS          how long new tokens live (3600)
  catalogue TYPE on|off   takes a service, say load-balancer, out of the catalogue
  strangers NAME          makes objects of somebody else whose names contain NAME, and prints them like objects
  console NAME FILE|off   what Nova says is the console log of a server
  heal                    ends all faults, starts what is stopped
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
  for service in $services guests:0 wires:0; do echo "${service%:*} ${service#*:} $(running "${service%:*}" && echo up || echo down)"; done
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
objects | sweep | quota | state | catalogue | strangers) admin "$verb" "$@" ;;
userdata) userdata "${1:?DIR}" ;;
mark) mark ;;
calls) since "${1:?MARK}" calls ;;
writes) writes "${1:?MARK}" ;;
answer) answer "${@:?SERVICE WHAT}" ;;
fail) fail "${1:?server or volume}" "${2:?REGEX or off}" ;;
tokens) tokens "${1:?SECONDS}" ;;
console) console "${1:?NAME}" "${2:?FILE or off}" ;;
heal) faults_off ;;
os) in_root openstack --os-cloud "${OS_CLOUD:-$OSLAB_PROJECT}" "$@" ;;
*)
  usage >&2
  exit 64
  ;;
esac
