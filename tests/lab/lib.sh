# shellcheck shell=bash
# Common functions of the lab's scripts: directories, packages, locks, progress, and process records that detect reused ids.
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_DIR=${LAB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/nodeinit-lab}
pinned_version=v1.37.1
version=${LAB_VERSION:-$pinned_version}
export LAB_DIR

die() { echo "lab: $*" >&2; exit 1; }

# The directory of a Kubernetes release: bin (built, or LAB_BIN) and images (packed from it), or the official artifacts.
case ${LAB_ARTIFACTS:-} in '' | official) ;; *) die "LAB_ARTIFACTS is $LAB_ARTIFACTS: set it to official, or unset it" ;; esac
release_dir() {
  if [ -n "${LAB_BIN:-}" ]; then
    echo "$LAB_DIR/release/ready-made-$(realpath "$LAB_BIN" | sha256sum | cut -c1-12)"
  elif [ "${LAB_ARTIFACTS:-}" = official ]; then
    # Each LAB_FETCH_CONFIG has a separate directory.
    echo "$LAB_DIR/release/official-$version${LAB_FETCH_CONFIG:+-$(sha256sum <"$LAB_FETCH_CONFIG" | cut -c1-12)}"
  else
    echo "$LAB_DIR/release/$version"
  fi
}
bin_dir() { if [ -n "${LAB_BIN:-}" ]; then realpath "$LAB_BIN"; else echo "$(release_dir)/bin"; fi; }

# The Debian version of new hosts; images are always based on Debian 12.
debian=${LAB_DEBIAN:-12}
# The name of the hosts' root contains a hash of its recipe, so a changed recipe makes a new root beside those in use.
root_dir() { echo "$LAB_DIR/root-$debian-$(cd "$lab" && find make-root.sh root -type f -print0 | sort -z | xargs -0 cat | sha256sum | cut -c1-12)"; }

# Installs the packages of missing commands: need COMMAND=PACKAGE...
need() {
  local pair missing=()
  for pair in "$@"; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "these packages are missing: ${missing[*]}; install them, or run as root"
  command -v apt-get >/dev/null || die "these packages are missing, and apt-get is not available to install them: ${missing[*]}"
  progress "installing ${missing[*]}" install_packages "${missing[@]}"
}
install_packages() {
  export DEBIAN_FRONTEND=noninteractive
  local install=(install -y -q --no-install-recommends "$@")
  apt_alone "${install[@]}" || { apt_alone update -q && apt_alone "${install[@]}"; }
}
apt_alone() { # waits for another apt-get, beside which apt-get fails
  mkdir -p "$LAB_DIR/lock"
  flock "$LAB_DIR/lock/packages" apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# Runs a command with its output in a log, and prints the elapsed time every few seconds: progress WHAT COMMAND...
progress() {
  local what=$1 started=$SECONDS log told=0 pid status=0
  shift
  mkdir -p "$LAB_DIR/log"
  log=$LAB_DIR/log/$(tr -cs 'A-Za-z0-9.\n' - <<<"$what" | cut -c1-60).log
  [ -t 2 ] || echo "lab: $what" >&2
  set -m # a separate process group, which ends with this script
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -TERM -- "-$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    if [ -t 2 ]; then
      printf '\r\033[Klab: %s, %d s' "$what" $((SECONDS - started)) >&2
    elif [ $((SECONDS - started)) -ge $((told + 15)) ]; then
      told=$((SECONDS - started))
      echo "lab: $what, $told s" >&2
    fi
    sleep 0.3
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [ ! -t 2 ] || printf '\r\033[K' >&2
  if [ $status != 0 ]; then
    tail -n 20 "$log" >&2
    die "$what failed (status $status): see $log"
  fi
  echo "lab: $what: done in $((SECONDS - started)) s" >&2
}

# Runs the rest of the script under a lock, for which a second script waits: only_one NAME
only_one() {
  mkdir -p "$LAB_DIR/lock"
  exec 8>"$LAB_DIR/lock/$1"
  flock -n 8 || { echo "lab: waiting for another script that holds the lock $1" >&2; flock 8; }
}

# A process is identified by its id and its start time (field 22 of stat), because ids are reused.
birth() { # prints the start time, or nothing for a process that has ended or is a zombie
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra stat <<<"${stat##*) }"
  [ "${stat[0]}" != Z ] && echo "${stat[19]}"
}
note_process() { echo "$1 $(birth "$1")"; }
is_alive() { # FILE written by note_process
  local pid born
  read -r pid born 2>/dev/null <"$1" && [ -n "$born" ] && [ "$(birth "$pid")" = "$born" ]
}
end_process() { ! is_alive "$1" || kill "-$2" "$(cut -d' ' -f1 "$1")" 2>/dev/null || true; } # FILE SIGNAL
