# shellcheck shell=bash
# Manages the cgroup of each host in every hierarchy of the machine: cgroup v1, hybrid, or v2 alone.
lab_cgroup=nodeinit-lab

hierarchies() { awk '$2 ~ "^/sys/fs/cgroup" && ($3 == "cgroup" || $3 == "cgroup2") {print $2}' /proc/mounts; }
is_v2() { [ -e /sys/fs/cgroup/cgroup.controllers ]; }

enter_cgroups() { # NAME: creates the host's cgroups and moves the calling shell into them
  local h d c
  for h in $(hierarchies); do
    d=$h/$lab_cgroup/$1
    mkdir -p "$d"
    if [ -e "$d/cpuset.cpus" ] && ! is_v2; then # a new cpuset is empty until it is given processors
      for c in cpuset.cpus cpuset.mems; do
        cat "$h/$c" >"${d%/*}/$c"
        cat "$h/$c" >"$d/$c"
      done
    fi
    # shellcheck disable=SC2013
    for c in $(cat "$h/cgroup.controllers" 2>/dev/null); do # v2: controllers of children are enabled from the top
      echo "+$c" >"$h/cgroup.subtree_control" || true
      echo "+$c" >"${d%/*}/cgroup.subtree_control" || true
    done 2>/dev/null
    echo "$BASHPID" >"$d/cgroup.procs"
  done
}

limit_cpu() { # NAME CORES|max: limits the total of all processes of the host
  local v1=/sys/fs/cgroup/cpu/$lab_cgroup/$1 v2=/sys/fs/cgroup/$lab_cgroup/$1 quota=-1
  [ "$2" = max ] || quota=$(awk -v cores="$2" 'BEGIN {printf "%d", cores * 100000}')
  if [ -e "$v1/cpu.cfs_quota_us" ]; then
    echo 100000 >"$v1/cpu.cfs_period_us"
    echo "$quota" >"$v1/cpu.cfs_quota_us"
  else
    echo "${quota/#-1/max} 100000" >"$v2/cpu.max"
  fi
}

cgroup_processes() { # NAME: prints every process of the host, even if its parent is gone
  local h
  for h in $(hierarchies); do
    [ ! -d "$h/$lab_cgroup/$1" ] || find "$h/$lab_cgroup/$1" -name cgroup.procs -exec cat {} + 2>/dev/null || true
  done | sort -u
}

remove_cgroups() { # NAME: first ends the processes in them
  local h p left
  for _ in $(seq 100); do
    for p in $(cgroup_processes "$1"); do kill -KILL "$p" 2>/dev/null || true; done
    left=
    for h in $(hierarchies); do
      [ -d "$h/$lab_cgroup/$1" ] || continue
      find "$h/$lab_cgroup/$1" -depth -type d -exec rmdir {} + 2>/dev/null || left=$h
    done
    [ -n "$left" ] || break
    sleep 0.1
  done
  [ -z "$left" ] || die "cgroup $left/$lab_cgroup/$1 cannot be removed"
  for h in $(hierarchies); do rmdir "$h/$lab_cgroup" 2>/dev/null || true; done # succeeds after the last host
}
