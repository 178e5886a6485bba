# shellcheck shell=bash
# What every run of the benchmark does: a host of its own, made afresh, under a lock, and removed at the end.
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lab/lib.sh
. "$bench/../lab/lib.sh"
host=$lab/host.sh

fresh_host() { # NAME IP
  only_one "bench-$1"
  "$host" down "$1"
  # shellcheck disable=SC2064
  trap "'$host' down '$1'" EXIT
  "$host" up "$1" "$2" >&2
}
