# shellcheck shell=bash
# The bridge that connects all hosts, without a route to other networks. The first host creates it; the last one removes it.
bridge=labbr0
machine_address=10.77.0.1
# Hosts share the kernel of the machine, and a kubelet changes these settings for the whole kernel.
shared_sysctls="fs.inotify.max_user_instances vm.overcommit_memory vm.panic_on_oom kernel.panic kernel.panic_on_oops kernel.keys.root_maxkeys kernel.keys.root_maxbytes"

network_lock() { mkdir -p "$LAB_DIR/lock"; flock "$LAB_DIR/lock/network" "$@"; }

make_network() { # requires the lock
  mkdir -p "$LAB_DIR"/{hosts,servers}
  [ -e "$LAB_DIR/ssh_key" ] || ssh-keygen -q -t ed25519 -N '' -C lab -f "$LAB_DIR/ssh_key"
  ! ip link show "$bridge" >/dev/null 2>&1 || return 0
  local key
  for key in $shared_sysctls; do echo "$key=$(sysctl -n "$key")"; done >"$LAB_DIR/machine-sysctls"
  modprobe -a overlay br_netfilter vxlan nf_conntrack 2>/dev/null || true # a host cannot load modules
  touch "$LAB_DIR/bridge-is-ours"
  # For the kernel, all hosts are one user with a limit of often 128: the kubelet of the fifth host would not start.
  [ "$(sysctl -n fs.inotify.max_user_instances)" -ge 2048 ] || sysctl -q -w fs.inotify.max_user_instances=2048
  ip link add "$bridge" type bridge
  ip address add "$machine_address/24" dev "$bridge"
  ip link set "$bridge" up
}

remove_network() { # requires the lock; does nothing if the bridge is in use or was not created by the lab
  [ -e "$LAB_DIR/bridge-is-ours" ] || return 0
  [ -z "$(find "$LAB_DIR/hosts" "$LAB_DIR/servers" -mindepth 1 -print -quit)" ] || return 0
  ! ip link show "$bridge" >/dev/null 2>&1 || ip link delete "$bridge"
  sysctl -q -p "$LAB_DIR/machine-sysctls" 2>/dev/null || true
  rm -f "$LAB_DIR/bridge-is-ours" "$LAB_DIR/machine-sysctls"
}
