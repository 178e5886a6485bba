# shellcheck shell=bash
# Common parts of all benchmark runs: each creates its own new host under a lock and removes it at the end.
bench=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=../lab/lib.sh
. "$bench/../lab/lib.sh"
host=$lab/host.sh
start=${EPOCHREALTIME/./} # microseconds; a script sets it again when its clock starts

fresh_host() { # NAME IP
  only_one "bench-$1"
  "$host" down "$1"
  # shellcheck disable=SC2064
  trap "'$host' down '$1'" EXIT
  "$host" up "$1" "$2" >&2
}

fresh_hosts() { # PREFIX FIRST COUNT: PREFIX1.. at 10.77.0.FIRST.., booted in parallel; their names are in $names
  local i
  only_one "bench-$1"
  names=()
  first_address=$2
  for i in $(seq "$3"); do names+=("$1$i"); done
  "$host" down "${names[@]}"
  # shellcheck disable=SC2064
  trap "'$host' down ${names[*]}" EXIT
  on_all boot
}
boot() { "$host" up "$1" "$(address_of "$1")" >&2; }
address_of() { echo "10.77.0.$((first_address - 1 + ${1: -1}))"; }
usage() { # begin|end HOST...: `end` prints a JSON line with the processor usage since `begin`
  # No run waits for the disk writes of the run before it.
  [ "$1" = end ] || sync
  "$bench/usage.py" "$1" "$LAB_DIR/log/usage-$2.json" "${@:2}"
}
on_all() { # FUNCTION: in parallel for all names of hosts
  local name job jobs=()
  for name in "${names[@]}"; do
    "$1" "$name" &
    jobs+=($!)
  done
  for job in "${jobs[@]}"; do wait "$job"; done
}
equip_first() { # BINARY: gives the first of three masters and two workers nodeinit, their configuration, and the key to the other hosts
  "$host" ssh "${names[0]}" mkdir -p /etc/nodeinit/conf.d
  "$host" copy "${names[0]}" "$(release_dir)/cluster.yaml" /etc/nodeinit/config.yaml
  "$lab/machines.sh" "${names[@]:0:3}" -- "${names[@]:3}" | "$host" ssh "${names[0]}" 'cat >/etc/nodeinit/conf.d/10-machines.yaml'
  "$host" copy "${names[0]}" "$LAB_DIR/ssh_key" /root/.ssh/id_ed25519
  "$host" copy "${names[0]}" "$1" /usr/local/bin/nodeinit
}
since() { local t=$((${EPOCHREALTIME/./} - start)); printf '%d.%03d' $((t / 1000000)) $((t / 1000 % 1000)); }
say() { echo "$(since)  $*" >&2; }
