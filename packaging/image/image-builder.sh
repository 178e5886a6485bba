#!/usr/bin/env bash
# Bakes the machine on which it runs, for image-builder and other Packer builds, without Ansible: a `file` provisioner uploads this
# repository's `packaging` and `systemd`, the program and the bundle, and a `shell` provisioner runs image-builder.sh NODEINIT BUNDLE as root.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
[ $# -ge 2 ] || { echo "usage: image-builder.sh NODEINIT BUNDLE [OPTION of build.sh]..." >&2; exit 64; }
[ "$(id -u)" = 0 ] || { echo "image-builder.sh: run it as root" >&2; exit 1; }

missing=()
for pair in ip=iproute2 iptables=iptables nft=nftables modprobe=kmod conntrack=conntrack ethtool=ethtool socat=socat; do
  command -v "${pair%=*}" >/dev/null || missing+=("${pair#*=}")
done
if [ ${#missing[@]} -gt 0 ]; then
  export DEBIAN_FRONTEND=noninteractive
  apt-get -o DPkg::Lock::Timeout=300 update -q
  apt-get -o DPkg::Lock::Timeout=300 install -y -q --no-install-recommends "${missing[@]}"
fi
# The build runs containerd on the same store.
! command -v systemctl >/dev/null || systemctl stop containerd.service 2>/dev/null || true
"$here/build.sh" "${@:3}" / "$1" "$2"
# This machine becomes the image: what build.sh leaves alone on a running machine. cloud-init generates host keys again.
rm -f /etc/ssh/ssh_host_*_key /etc/ssh/ssh_host_*_key.pub /var/lib/systemd/random-seed
if [[ " $* " == *" --first-boot "* ]]; then echo uninitialized; fi >/etc/machine-id
[ ! -f /var/lib/dbus/machine-id ] || ln -sf /etc/machine-id /var/lib/dbus/machine-id # systemd would take the ID of the image from there
! command -v cloud-init >/dev/null || cloud-init clean --logs
sync
