#!/usr/bin/env bash
# Manages lab hosts: Debian 12 machines in systemd-nspawn, each with an address on a common bridge.
set -euo pipefail
here=$(dirname "${BASH_SOURCE[0]}")
# shellcheck source=lib.sh
. "$here/lib.sh"
# shellcheck source=cgroups.sh
. "$here/cgroups.sh"
# shellcheck source=network.sh
. "$here/network.sh"
# shellcheck source=haproxy.sh
. "$here/haproxy.sh"
# shellcheck source=upstream.sh
. "$here/upstream.sh"

usage() {
  cat <<END
usage: host.sh VERB ...
  up NAME [IP [SEED]]     boots a new or stopped host and waits until it is up; SEED is a cloud-init seed folder
  start NAME [IP [SEED]]  boots a host without waiting
  ssh NAME COMMAND...     runs a command on the host
  copy NAME FILE... DEST  copies files to the host
  stop NAME               shuts the host down; its disk stays
  kill NAME               cuts the power of the host; its disk stays
  down NAME...            cuts the power of hosts and removes them
  cpu NAME CORES|max      limits the processor time of the host, for example to 0.5
  disk NAME PATH SIZE|off mounts a disk of SIZE (8k, 200m) over PATH of the host
  freeze NAME on|off      freezes all processes of the host, or lets them continue
  network NAME on|off     connects or disconnects the network of the host
  delay NAME MS|off       delays all packets from the host by MS milliseconds, until it is stopped
  writes NAME on|off      starts or stops heavy writes on the disk under the host
  serve PORT DIR [CUT]    serves files on http://$machine_address:PORT, cutting each answer after CUT bytes
  balance PORT NAME|IP... balances port PORT of the machine over the API servers of these masters, which may start later
  upstream PORT none|basic|token [CUT]
                          replaces the upstream servers: files at https://$machine_address:PORT; a registry at PORT + 1, open to everyone, or
                          to the user of $LAB_DIR/upstream/password with basic authentication or the token server at PORT + 2; the CA is
                          upstream/ca.pem
                          unserve PORT            ends the server of a port
                          list                    prints NAME IP up|down for each host
                          gc                      removes the remains of killed runs, according to the records in $LAB_DIR
                          A host created with LAB_OWNER=PID is removed by the next start or gc after the end of that process;
                          with LAB_IMPORTED=1, it has all images in containerd from the start; with LAB_BAKED=DIR, it has the files of DIR on its disk;
                          with LAB_BARE=1, it has neither containerd nor runc; with LAB_ROOT=DIR, it starts from that root and sees nothing of the
                          lab's programs and images.
                          ssh and copy connect from the address LAB_FROM of this machine, if it is set.
END
}

# --- one host, whose records are the files of $host ---
use() { # NAME
  [[ $1 =~ ^[a-z0-9-]{1,12}$ ]] || die "invalid or missing host name: use at most 12 of a-z, 0-9 and -"
  name=$1
  host=$LAB_DIR/hosts/$1
}
lock_host() { mkdir -p "$LAB_DIR/lock"; exec 9>"$LAB_DIR/lock/host-$name"; flock "$@" 9; }
lock_server() { mkdir -p "$LAB_DIR/lock"; exec 9>"$LAB_DIR/lock/server-$1"; flock "${@:2}" 9; } # PORT
exists() { [ -e "$host/made" ] || die "there is no host $name"; }
is_up() { [ -e "$host/process" ] && is_alive "$host/process"; }
ip() { command ip "$@"; }

default_address() {
  case $name in
  m[1-9]) echo "10.77.0.$((10 + ${name#m}))" ;;
  w[1-9]) echo "10.77.0.$((20 + ${name#w}))" ;;
  *) die "$name has no default address: use up $name 10.77.0.X" ;;
  esac
}

learn() { # reads the host keys created by cloud-init from the console
  [ ! -s "$host/known_hosts" ] || return 0
  ! grep -qas '^-*END SSH HOST KEY KEYS' "$host/console" ||
    sed -n '/^-*BEGIN SSH HOST KEY KEYS/,/^-*END/p' "$host/console" | grep -aoE '^(ssh|ecdsa)-[a-z0-9-]+ [A-Za-z0-9+/=]+' | remember
}
remember() { sed "s/^/$(cat "$host/ip") /" >"$host/known_hosts"; }

ssh_options() {
  learn
  options=(-i "$LAB_DIR/ssh_key" -o UserKnownHostsFile="$host/known_hosts" -o StrictHostKeyChecking=yes -o LogLevel=ERROR
    -o BatchMode=yes -o ConnectTimeout=3)
  [ -z "${LAB_FROM:-}" ] || options+=(-o "BindAddress=$LAB_FROM")
}
remote() { # uses SSH, so that started processes are in the cgroups of the host
  local options
  ssh_options
  # shellcheck disable=SC2029
  ssh "${options[@]}" "root@$(cat "$host/ip")" "$@"
}

create() { # IP SEED: mounts an overlay on the root, and plain folders where containerd mounts its overlays
  local ip=$1 seed=$2 disk=$host/upper others shared store=
  [[ $ip =~ ^10\.77\.0\.[0-9]+$ ]] || die "the address $ip of $name is not in 10.77.0.0/24"
  others=$(grep -lsxF "$ip" "$LAB_DIR"/hosts/*/ip || true)
  [ -z "$others" ] || die "$ip belongs to $(basename "$(dirname "$others")")"
  shared=$("$lab/prepare.sh")
  [ -z "${LAB_IMPORTED:-}" ] || store=$("$lab/imported.sh")
  if [ -n "${LAB_ROOT:-}" ]; then
    [ -d "$LAB_ROOT/etc" ] || die "LAB_ROOT is $LAB_ROOT, which has no root file system"
    shared=$(sed "3s#.*#$(realpath "$LAB_ROOT")#" <<<"$shared")
    [ ! -d "$LAB_ROOT/var/lib/containerd" ] || store=$LAB_ROOT/var/lib/containerd
  fi
  mkdir -p "$host"
  [ -z "${LAB_OWNER:-}" ] || note_process "$LAB_OWNER" >"$host/owner"
  echo "$ip" >"$host/ip"
  network_lock "$0" make-network
  echo "$shared" >"$host/shared"
  mkdir -p "$host"/{upper,work,root,containerd,kubelet} "$disk"/{etc/containerd,etc/ssh,etc/cloud/cloud.cfg.d,root/.ssh,var/lib/cloud/seed}
  echo "nameserver $machine_address" >"$disk/etc/resolv.conf"
  if [ -n "${LAB_ROOT:-}" ]; then touch "$host/sealed"; else tr -d - </proc/sys/kernel/random/uuid >"$disk/etc/machine-id"; fi
  echo "$ip" >"$disk/etc/lab-address"
  chmod 700 "$disk/root" "$disk/root/.ssh"
  cp "$LAB_DIR/ssh_key.pub" "$disk/root/.ssh/authorized_keys"
  sed "s#registry.k8s.io/pause:[0-9.]*#$(sed -n 's/^pause.tar //p' "$(sed -n 2p <<<"$shared")/names")#" \
    "$lab/root/etc/containerd/config.toml" >"$disk/etc/containerd/config.toml"
  [ -z "$store" ] || copy_store "$store"
  [ -z "${LAB_BARE:-}" ] || remove_containerd "$(sed -n 3p <<<"$shared")"
  [ -z "${LAB_BAKED:-}" ] || cp -r --preserve=mode "$LAB_BAKED/." "$disk/"
  if [ -d "$seed/openstack" ]; then create_from_config_drive "$seed"; else create_plain "$seed"; fi
  touch "$host/made"
}

remove_containerd() { # ROOT: creates character devices 0:0, with which an overlay hides files
  local file
  rm -r "$host/upper/etc/containerd"
  (cd "$1" && ls -d usr/bin/containerd* usr/bin/ctr usr/bin/runc usr/sbin/runc usr/lib/systemd/system/containerd.service \
    etc/systemd/system/multi-user.target.wants/containerd.service etc/containerd 2>/dev/null || true) | while read -r file; do
    mkdir -p "$host/upper/$(dirname "$file")"
    mknod "$host/upper/$file" c 0 0
  done
}

copy_store() { # links the files that containerd never changes in place, and copies its databases
  cp -al "$1/." "$host/containerd/"
  (cd "$1" && find . -name '*.db') | while read -r file; do cp --remove-destination -p "$1/$file" "$host/containerd/$file"; done
}

create_plain() {
  local disk=$host/upper ip
  ip=$(cat "$host/ip")
  echo "$name" >"$disk/etc/hostname"
  printf '127.0.0.1 localhost\n%s %s\n' "$ip" "$name" >"$disk/etc/hosts"
  ssh-keygen -q -t ed25519 -N '' -C "$name" -f "$disk/etc/ssh/ssh_host_ed25519_key"
  remember <"$disk/etc/ssh/ssh_host_ed25519_key.pub"
  if [ -n "$1" ]; then cp -r "$1" "$disk/var/lib/cloud/seed/nocloud"; else touch "$disk/etc/cloud/cloud-init.disabled"; fi
}

create_from_config_drive() { # as with a cloud image, cloud-init sets the name, the host keys and the user's key
  local disk=$host/upper drop_in=$host/upper/etc/systemd/system/lab-network.service.d
  cp -r "$1" "$disk/var/lib/cloud/seed/config_drive"
  chmod -R go= "$disk/var/lib/cloud/seed/config_drive" # only root can read a drive
  echo localhost >"$disk/etc/hostname"
  mkdir -p "$drop_in" # cloud-init requires the network card that the network data names
  python3 "$lab/cards.py" <"$1.cards" >"$drop_in/cards.conf"
  [ "$(wc -l <"$1.cards")" = 1 ] || touch "$host/second-card"
  printf 'policy: enabled\ndatasource: ConfigDrive\n' >"$disk/etc/cloud/ds-identify.cfg"
  printf 'datasource_list: [ConfigDrive]\nssh_deletekeys: true\ndisable_root: true\nmanage_etc_hosts: true\n' >"$disk/etc/cloud/cloud.cfg.d/99-openstack.cfg"
}

boot() {
  local bin images root binds=()
  { read -r bin; read -r images; read -r root; } <"$host/shared"
  [[ -d $bin && -d $images && -d $root ]] || die "the files from which $name was created are gone: remove it with host.sh down $name, then create it again"
  [ -e "$host/sealed" ] ||
    binds=("--bind-ro=$bin:/opt/lab/bin" "--bind-ro=$images:/opt/lab/images" "--bind-ro=$LAB_DIR/release:/opt/lab/releases")
  network_lock "$0" make-network
  [ ! -e "$host/second-card" ] || binds+=("--network-veth-extra=v2-$name:host1")
  mount -t overlay "lab-$name" -o "lowerdir=$root,upperdir=$host/upper,workdir=$host/work" "$host/root"
  (
    note_process "$BASHPID" >"$host/process"
    enter_cgroups "$name"
    export SYSTEMD_NSPAWN_API_VFS_WRITABLE=1
    exec setsid systemd-nspawn --register=no --keep-unit -b -D "$host/root" -M "$name" \
      --network-bridge="$bridge" --capability=all '--system-call-filter=@keyring bpf perf_event_open @mount' \
      --bind=/dev/kmsg --bind=/dev/null:/dev/vda \
      --bind="$host/containerd:/var/lib/containerd" --bind="$host/kubelet:/var/lib/kubelet" \
      "${binds[@]}" \
      --link-journal=no --resolv-conf=off --timezone=off --console=read-only
  ) </dev/null >>"$host/console" 2>&1 8>&- 9>&- &
  local deadline=$((SECONDS + 60))
  until ip link set "vb-$name" up 2>/dev/null || [ $SECONDS -ge $deadline ]; do sleep 0.05; done
  if [ -e "$host/second-card" ]; then
    until ip link set "v2-$name" master "$bridge" up 2>/dev/null || [ $SECONDS -ge $deadline ]; do sleep 0.05; done
  fi
  [ ! -e "$host/cpu" ] || limit_cpu "$name" "$(cat "$host/cpu")"
}

wait_until_up() {
  local deadline=$((SECONDS + 60))
  while is_up && [ $SECONDS -lt $deadline ]; do
    case $(remote systemctl is-system-running 2>/dev/null) in
    running) return ;;
    degraded)
      remote systemctl --failed --no-legend >&2
      return
      ;;
    esac
    sleep 0.2
  done
  tail -n 5 "$host/console" >&2
  die "$name did not boot: see $host/console"
}

stop() { # TERM shuts the host down; KILL cuts its power by killing its init, and the kernel ends the rest
  local nspawn=
  stop_writes
  stop_delay
  if is_up; then
    read -r nspawn _ <"$host/process"
    if [ "$1" = TERM ]; then kill "$nspawn"; else pkill -KILL -P "$nspawn" || true; fi
    for _ in $(seq 600); do is_up || break; sleep 0.1; done
  fi
  remove_cgroups "$name"
  rm -f "$host/process"
  ip link delete "vb-$name" 2>/dev/null || true
  ip link delete "v2-$name" 2>/dev/null || true
  for _ in $(seq 100); do
    ! mountpoint -q "$host/root" || umount -R "$host/root" 2>/dev/null || { sleep 0.1; continue; }
    return 0
  done
  die "$host/root cannot be unmounted"
}

remove() {
  stop KILL
  rm -rf --one-file-system "$host"
  network_lock "$0" remove-network
}

start_writes() {
  ! is_alive "$host/writer" || return 0
  # shellcheck disable=SC2016
  setsid bash -c 'while :; do dd if=/dev/zero of="$0" bs=1M count=256 conv=fsync 2>/dev/null; done' "$host/writes" </dev/null >/dev/null 2>&1 8>&- 9>&- &
  note_process $! >"$host/writer"
}
start_delay() { # MILLISECONDS: starts a program that forwards frames between the host's interface and the bridge
  ip link set "vb-$name" nomaster
  ip link add "ld-$name" type veth peer name "lb-$name"
  ip link set "lb-$name" master "$bridge" up
  ip link set "ld-$name" up
  setsid python3 "$lab/delay.py" "vb-$name" "ld-$name" "$1" </dev/null >>"$host/delay.log" 2>&1 8>&- 9>&- &
  note_process $! >"$host/delayer"
}
stop_delay() {
  [ -e "$host/delayer" ] || return 0
  end_process "$host/delayer" KILL
  ip link delete "ld-$name" 2>/dev/null || true
  ! ip link show "vb-$name" >/dev/null 2>&1 || ip link set "vb-$name" master "$bridge"
  rm -f "$host/delayer"
}
stop_writes() {
  ! is_alive "$host/writer" || kill -KILL -- "-$(cut -d' ' -f1 "$host/writer")" 2>/dev/null || true
  rm -f "$host/writer" "$host/writes"
}

small_disk() { # PATH SIZE|off
  local with_containerd=
  case $1 in /var/lib/containerd*) with_containerd=1 ;; esac
  remote sh -es "$1" "$2" "$with_containerd" <<'END'
[ -z "$3" ] || systemctl stop containerd
if [ "$2" = off ]; then
  umount "$1"
else
  mkdir -p "$1"
  if mountpoint -q "$1" && [ "$(stat -f -c %T "$1")" = tmpfs ]; then mount -o "remount,size=$2" "$1"; else mount -t tmpfs -o "size=$2,mode=755" lab-disk "$1"; fi
fi
[ -z "$3" ] || systemctl start containerd
END
}

# --- all hosts ---
gc() { # skips hosts that are locked because another process works on them
  local dir record
  for dir in "$LAB_DIR"/hosts/*/; do
    [ -d "$dir" ] || continue
    (
      use "$(basename "$dir")"
      lock_host -n || exit 0
      if { [ -e "$host/owner" ] && ! is_alive "$host/owner"; } || [ ! -e "$host/made" ]; then
        echo "lab: removing host $name, left by an ended run" >&2
        remove
      elif ! is_up && { [ -e "$host/process" ] || mountpoint -q "$host/root"; }; then
        echo "lab: cleaning up host $name, which has ended; its disk stays" >&2
        stop KILL
      fi
    ) || true
  done
  for record in "$LAB_DIR"/servers/*; do
    [ -e "$record" ] || continue
    case $record in *.owner) continue ;; esac
    (
      lock_server "$(basename "$record")" -n || exit 0 # it is starting or ending
      if ! is_alive "$record" || { [ -s "$record.owner" ] && ! is_alive "$record.owner"; }; then
        end_process "$record" KILL
        rm -f "$record" "$record.owner"
      fi
    )
  done
  network_lock "$0" remove-network
}

list() {
  local dir
  for dir in "$LAB_DIR"/hosts/*/; do
    [ -e "$dir/ip" ] || continue
    use "$(basename "$dir")"
    printf '%s %s %s\n' "$name" "$(cat "$host/ip")" "$(is_up && echo up || echo down)"
  done
}

serve_with() { # PORT COMMAND...: runs a server for the port at the machine's address
  local port=$1 record=$LAB_DIR/servers/$1 log=$LAB_DIR/log/serve-$1.log
  shift
  lock_server "$port"
  ! is_alive "$record" || die "port $port already has a server"
  mkdir -p "$LAB_DIR/servers" "$LAB_DIR/log"
  : >"$record"
  network_lock "$0" make-network
  setsid "$@" </dev/null >"$log" 2>&1 9>&- &
  note_process $! >"$record"
  [ -z "${LAB_OWNER:-}" ] || note_process "$LAB_OWNER" >"$record.owner"
  for _ in $(seq 100); do
    is_alive "$record" || die "$1 ended: $(tail -n 1 "$log")"
    ! (: <"/dev/tcp/$machine_address/$port") 2>/dev/null || return 0
    sleep 0.05
  done
  die "$1 did not start: see $log"
}

unserve() { # PORT
  lock_server "$1"
  end_process "$LAB_DIR/servers/$1" KILL
  rm -f "$LAB_DIR/servers/$1" "$LAB_DIR/servers/$1.owner"
  network_lock "$0" remove-network
}

verb=${1:-help}
[ $# = 0 ] || shift
case $verb in help | -h | --help) usage; exit 0 ;; esac
[ "$(id -u)" = 0 ] || die "host.sh must run as root: use sudo"
case $verb in
up | start)
  gc
  use "${1:-}"
  lock_host
  is_up && { [ "$verb" = start ] || wait_until_up; exit 0; }
  [ -e "$host/made" ] || create "${2:-$(default_address)}" "${3:-}"
  boot
  [ "$verb" = start ] || wait_until_up
  ;;
ssh)
  use "${1:-}"
  exists
  shift
  remote "$@"
  ;;
copy)
  use "${1:-}"
  exists
  [ $# -ge 3 ] || die "copy NAME FILE... DESTINATION"
  ssh_options
  scp -q "${options[@]}" "${@:2:$#-2}" "root@$(cat "$host/ip"):${!#}"
  ;;
stop | kill)
  use "${1:-}"
  lock_host
  exists
  stop "$([ "$verb" = stop ] && echo TERM || echo KILL)"
  ;;
down)
  for n in "$@"; do
    use "$n"
    lock_host
    [ ! -e "$host" ] || remove
  done
  ;;
cpu)
  use "${1:-}"
  exists
  echo "${2:?CORES or max}" >"$host/cpu"
  ! is_up || limit_cpu "$name" "$2"
  ;;
disk)
  use "${1:-}"
  exists
  small_disk "${2:?PATH}" "${3:?SIZE or off}"
  ;;
freeze)
  use "${1:-}"
  exists
  case ${2:-} in on) signal=STOP ;; off) signal=CONT ;; *) die "freeze $name on, or off" ;; esac
  for process in $(cgroup_processes "$name"); do kill "-$signal" "$process" 2>/dev/null || true; done
  ;;
network)
  use "${1:-}"
  exists
  case ${2:-} in on) ip link set "vb-$name" up ;; off) ip link set "vb-$name" down ;; *) die "network $name on, or off" ;; esac
  ;;
delay)
  use "${1:-}"
  exists
  stop_delay
  case ${2:-} in off) ;; '' | *[!0-9]*) die "delay $name by how many milliseconds, or off?" ;; *) start_delay "$2" ;; esac
  ;;
writes)
  use "${1:-}"
  exists
  case ${2:-} in on) start_writes ;; off) stop_writes ;; *) die "writes $name on, or off" ;; esac
  ;;
serve) serve_with "${1:?PORT}" python3 "$lab/serve.py" "$machine_address" "$@" ;;
balance)
  [ $# -ge 2 ] || die "balance PORT NAME|IP..."
  balance "$@"
  ;;
upstream)
  [ $# -ge 2 ] || die "upstream PORT none, basic or token"
  upstream "$@"
  ;;
unserve) unserve "${1:?PORT}" ;;
list) list ;;
gc) gc ;;
make-network) make_network ;;
remove-network) remove_network ;;
*)
  usage >&2
  exit 64
  ;;
esac
