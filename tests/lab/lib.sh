# shellcheck shell=bash
# What the lab's scripts share: where things are kept, packages, locks, progress, and processes told apart from recycled ids.
lab=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
LAB_DIR=${LAB_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/nodeinit-lab}
pinned_version=v1.37.1
version=${LAB_VERSION:-$pinned_version}
export LAB_DIR

die() { echo "lab: $*" >&2; exit 1; }

# Everything a release of Kubernetes needs: bin (built, or LAB_BIN) and images (packed from it); or the official ones.
case ${LAB_ARTIFACTS:-} in '' | official) ;; *) die "LAB_ARTIFACTS is official, or not set; it is $LAB_ARTIFACTS" ;; esac
release_dir() {
  if [ -n "${LAB_BIN:-}" ]; then
    echo "$LAB_DIR/release/ready-made-$(realpath "$LAB_BIN" | sha256sum | cut -c1-12)"
  elif [ "${LAB_ARTIFACTS:-}" = official ]; then
    # What LAB_FETCH_CONFIG changes, such as the servers, is kept apart.
    echo "$LAB_DIR/release/official-$version${LAB_FETCH_CONFIG:+-$(sha256sum <"$LAB_FETCH_CONFIG" | cut -c1-12)}"
  else
    echo "$LAB_DIR/release/$version"
  fi
}
bin_dir() { if [ -n "${LAB_BIN:-}" ]; then realpath "$LAB_BIN"; else echo "$(release_dir)/bin"; fi; }

# The Debian of new hosts; images are always made from Debian 12.
debian=${LAB_DEBIAN:-12}
# The hosts' root is keyed by what it is made from, so a changed recipe makes a new one beside those in use.
root_dir() { echo "$LAB_DIR/root-$debian-$(cd "$lab" && find make-root.sh root -type f -print0 | sort -z | xargs -0 cat | sha256sum | cut -c1-12)"; }

# Packages of the commands that are missing: need COMMAND=PACKAGE...
need() {
  local pair missing=()
  for pair in "$@"; do command -v "${pair%%=*}" >/dev/null || missing+=("${pair#*=}"); done
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] || die "these packages are missing: ${missing[*]}; install them, or run as root"
  command -v apt-get >/dev/null || die "these packages are missing and there is no apt-get here: ${missing[*]}"
  progress "installing ${missing[*]}" install_packages "${missing[@]}"
}
install_packages() {
  export DEBIAN_FRONTEND=noninteractive
  local install=(install -y -q --no-install-recommends "$@")
  apt_alone "${install[@]}" || { apt_alone update -q && apt_alone "${install[@]}"; }
}
apt_alone() { # apt-get fails where another one is at work
  mkdir -p "$LAB_DIR/lock"
  flock "$LAB_DIR/lock/packages" apt-get -o DPkg::Lock::Timeout=300 "$@"
}

# Runs a command with its output in a log, and says every few seconds how long it has been at it: progress WHAT COMMAND...
progress() {
  local what=$1 begun=$SECONDS log told=0 pid status=0
  shift
  mkdir -p "$LAB_DIR/log"
  log=$LAB_DIR/log/$(tr -cs 'A-Za-z0-9.\n' - <<<"$what" | cut -c1-60).log
  [ -t 2 ] || echo "lab: $what" >&2
  set -m # a process group of its own, to be ended with us
  "$@" >"$log" 2>&1 </dev/null &
  pid=$!
  set +m
  trap 'kill -TERM -- "-$pid" 2>/dev/null; exit 130' INT TERM
  while kill -0 "$pid" 2>/dev/null; do
    if [ -t 2 ]; then
      printf '\r\033[Klab: %s, %d s' "$what" $((SECONDS - begun)) >&2
    elif [ $((SECONDS - begun)) -ge $((told + 15)) ]; then
      told=$((SECONDS - begun))
      echo "lab: $what, $told s" >&2
    fi
    sleep 0.3
  done
  wait "$pid" || status=$?
  trap - INT TERM
  [ ! -t 2 ] || printf '\r\033[K' >&2
  if [ $status != 0 ]; then
    tail -n 20 "$log" >&2
    die "$what failed (status $status); the whole output is in $log"
  fi
  echo "lab: $what: done in $((SECONDS - begun)) s" >&2
}

# Runs the rest of the script under a lock; a second one waits: only_one NAME
only_one() {
  mkdir -p "$LAB_DIR/lock"
  exec 8>"$LAB_DIR/lock/$1"
  flock -n 8 || { echo "lab: another one is at work on $1, waiting for it" >&2; flock 8; }
}

# A process is its id and its start time (field 22 of stat), so that a recycled id is never taken for it.
birth() { # nothing for a process that is gone or waits to be reaped
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  read -ra stat <<<"${stat##*) }"
  [ "${stat[0]}" != Z ] && echo "${stat[19]}"
}
note_process() { echo "$1 $(birth "$1")"; }
is_alive() { # FILE with a note
  local pid born
  read -r pid born 2>/dev/null <"$1" && [ -n "$born" ] && [ "$(birth "$pid")" = "$born" ]
}
end_process() { ! is_alive "$1" || kill "-$2" "$(cut -d' ' -f1 "$1")" 2>/dev/null || true; } # FILE SIGNAL
