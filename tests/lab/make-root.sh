#!/usr/bin/env bash
# Makes the root file system that every lab host starts from: Debian 12, or $LAB_DEBIAN, with systemd, sshd, cloud-init and containerd;
# prints where.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
root=$(root_dir)
[ ! -e "$root.done" ] || { echo "$root"; exit 0; }
only_one root
[ ! -e "$root.done" ] || { echo "$root"; exit 0; }
[ "$(id -u)" = 0 ] || die "making the hosts' root needs root rights"
need debootstrap=debootstrap
case $debian in 12) suite=bookworm ;; 13) suite=trixie ;; *) die "LAB_DEBIAN is 12 or 13; it is $debian" ;; esac

make_root() {
  rm -rf --one-file-system "$root"
  # The archives this machine itself installs Debian from.
  sources=$(apt-get indextargets --format "deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' 'Origin: Debian' | sort -u)
  [ -n "$sources" ] || { apt_alone update -q; sources=$(apt-get indextargets --format "deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' 'Origin: Debian' | sort -u); }
  mirror=$(awk '$3 == "bookworm" || $3 == "stable" {print $2; exit}' <<<"$sources")
  [ -n "$mirror" ] || die "this machine installs Debian 12 from nowhere: name an archive in /etc/apt/sources.list"
  [ "$suite" = bookworm ] || sources="deb $mirror $suite main"
  debootstrap --variant=minbase $suite "$root" "$mirror"

  printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
  apt-config dump | grep -i '::proxy' >"$root/etc/apt/apt.conf.d/00lab" || true
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  in_root apt-get update -q
  in_root apt-get upgrade -y -q
  in_root apt-get install -y -q --no-install-recommends \
    systemd systemd-sysv dbus openssh-server sudo cloud-init containerd runc \
    iptables nftables conntrack ethtool socat iproute2 iputils-ping kmod procps ca-certificates curl
  in_root apt-get clean
  rm -rf "$root"/var/lib/apt/lists/* "$root"/etc/apt/apt.conf.d/00lab "$root"/usr/sbin/policy-rc.d
  : >"$root/etc/apt/sources.list"
  rm -f "$root/etc/resolv.conf" "$root"/etc/ssh/ssh_host_*
  : >"$root/etc/resolv.conf"
  : >"$root/etc/machine-id"

  cp -a --no-preserve=ownership "$lab/root/." "$root/"
  in_root systemctl enable -q lab-cgroups.service lab-network.service containerd.service ssh.service
  in_root systemctl mask -q systemd-networkd.service systemd-networkd.socket systemd-networkd-wait-online.service \
    apt-daily.timer apt-daily-upgrade.timer e2scrub_all.timer
}
in_root() { chroot "$root" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"; }

progress "making the hosts' root (Debian $debian)" make_root
touch "$root.done"
echo "$root"
