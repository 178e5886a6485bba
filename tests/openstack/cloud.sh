#!/usr/bin/env bash
# Runs a real OpenStack API on this machine, whose servers are hosts of the lab.
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
  up                      creates the cloud if it does not exist, and starts its services; the clouds demo, nodeinit, tls, selftest
                          and admin of $OSLAB_DIR/clouds.yaml then work
  down                    stops all services and removes the guests; the objects of the cloud stay
  reset                   replaces the cloud by a new one
  status                  prints SERVICE PORT up|down for each service; guests and wires are up after \`guests on\`
  stop|start SERVICE...   stops or starts services
  guests on|off           boots a lab host for each server and follows the server's state (on), or removes these hosts. LAB_IMPORTED as in tests/lab
  guests                  prints HOST ID ADDRESS NAME of each server
  ssh NAME COMMAND...     runs a command as root in the guest of the server NAME, past all security groups
  copy NAME FILE... DEST  copies files into the guest of the server NAME
  groups on|off           enforces security groups and port security (on), or only stores them
  bake FILE PATH          copies FILE to PATH of every future guest, as if it were in the image
  os ARGUMENT...          runs the OpenStack client as OS_CLOUD (or OSLAB_PROJECT)
  looking:
  objects                 prints KIND ID NAME of each object in the project (OSLAB_PROJECT, demo if unset) except those of the lab
  sweep                   deletes all these objects in any state
  userdata DIR            writes the user-data of each server, as Nova's API shows it, to DIR/NAME
  mark                    prints a mark of the current time for calls and writes
  calls MARK              prints clients' requests since the mark, from the log of the front door: TIME SERVICE METHOD PATH STATUS DURATION AGENT
  writes MARK             prints write requests since the mark, from the logs of the services, without tokens: SERVICE METHOD PATH
faults:
  answer SERVICE WHAT [--times N] [--seconds S] [--method M] [--path REGEX]
                          answers clients in place of SERVICE; WHAT is a status, reset (closes the connection), hang (no answer), lost (the
                          service executes the request and the answer is lost), or off
                          fail server|volume REGEX|off   servers or volumes whose names match end in ERROR
                          state server|volume|loadbalancer NAME STATE   sets the state: error, creating, PENDING_UPDATE, ACTIVE...
                          quota KEY=N|KEY=+N|default...  sets the project's quotas; +N means N more than are in use
                          tokens SECONDS          sets the lifetime of new tokens (3600)
                          catalogue TYPE on|off   adds a service, for example load-balancer, to the catalogue, or removes it
                          strangers NAME          creates objects of another user whose names contain NAME, and prints them like objects
                          console NAME FILE|off   makes Nova return FILE as the console log of a server
                          heal                    ends all faults and starts stopped services
END
}

verb=${1:-help}
[ $# = 0 ] || shift
case $verb in help | -h | --help) usage; exit 0 ;; esac
[ "$(id -u)" = 0 ] || die "cloud.sh must run as root: use sudo"
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
