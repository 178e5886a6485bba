#!/usr/bin/env bash
# Makes the root file system that the OpenStack services run in: Debian 12 and its OpenStack packages.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ ! -e "$root.done" ] || exit 0
[ "$(id -u)" = 0 ] || die "making the cloud's root needs root rights"
only_one openstack-root
[ ! -e "$root.done" ] || exit 0
need debootstrap=debootstrap

sources() { apt-get indextargets --format "deb \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" 'Created-By: Packages' 'Origin: Debian' | sort -u; }

make_root() {
  rm -rf --one-file-system "$root"
  mkdir -p "$OSLAB_DIR" "$state"
  # The archives this machine itself installs Debian from.
  sources=$(sources)
  [ -n "$sources" ] || { apt_alone update -q; sources=$(sources); }
  mirror=$(awk '$3 == "bookworm" || $3 == "stable" {print $2; exit}' <<<"$sources")
  [ -n "$mirror" ] || die "this machine installs Debian 12 from nowhere: name an archive in /etc/apt/sources.list"
  debootstrap --variant=minbase --include=ca-certificates,eatmydata bookworm "$root" "$mirror"

  printf '%s\n' "$sources" >"$root/etc/apt/sources.list"
  apt-config dump | grep -iE '::proxy|::check-' >"$root/etc/apt/apt.conf.d/00lab" || true
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
  mkdir -p "$root/oslab"

  # The packages' scripts want /proc.
  in_root apt-get update -q
  in_root eatmydata apt-get install -y -q --no-install-recommends \
    mariadb-server rabbitmq-server uwsgi-plugin-python3 qemu-utils openssl curl haproxy nftables iproute2 \
    keystone placement-common glance-api neutron-common cinder-common nova-common octavia-common \
    python3-openstackclient python3-octaviaclient
  in_root apt-get clean
  rm -rf "$root"/var/lib/apt/lists/* "$root"/usr/share/{doc,man,locale}/* "$root/etc/apt/apt.conf.d/00lab"
  : >"$root/etc/apt/sources.list"
  : >"$root/etc/resolv.conf"
}

progress "making the cloud's root (Debian 12, OpenStack Zed)" make_root
touch "$root.done"
