#!/usr/bin/env bash
# A single master in a virtual machine, with what the lab's hosts do not have: a kernel of its own (Debian's), cgroup v2, systemd's cgroup
# driver, swap, modules and settings of its own. Prints what it shows: guest.sh BINARY
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
. "$here/lib.sh"
binary=${1:?BINARY}
memory=3072 address=10.0.2.15 # qemu's own network, behind a port of loopback
work=$LAB_DIR/guest
mkdir -p "$work" "$LAB_DIR/log"
only_one guest
need qemu-system-x86_64=qemu-system-x86 mke2fs=e2fsprogs
{ read -r bin; read -r images; read -r root; } < <("$here/prepare.sh")

chroot_with_apt() { # in a mount namespace of its own, with this machine's archives and name servers
  # shellcheck disable=SC2016
  unshare --mount sh -ec 'mount --rbind /dev "$0/dev"; mount -t proc proc "$0/proc"; mount --bind /etc/apt "$0/etc/apt"
    mount --bind /etc/resolv.conf "$0/etc/resolv.conf"; exec chroot "$0" "$@"' \
    "$tree" env DEBIAN_FRONTEND=noninteractive LC_ALL=C PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

make_disk() {
  tree=$work/tree
  rm -rf --one-file-system "$tree" "$work/made"
  cp -a "$root" "$tree"
  chroot_with_apt apt-get update -q
  chroot_with_apt apt-get install -y -q --no-install-recommends linux-image-cloud-amd64 initramfs-tools udev \
    chrony fdisk lvm2 mdadm tzdata xfsprogs
  rm -rf "$tree"/var/lib/apt/lists/* "$tree/etc/containerd"
  cp -L "$tree/vmlinuz" "$tree/initrd.img" "$work/"
  chroot "$tree" systemctl disable -q lab-cgroups.service lab-network.service
  chroot "$tree" systemctl unmask -q systemd-networkd.service systemd-networkd.socket
  chroot "$tree" systemctl enable -q systemd-networkd.service
  printf '[Match]\nType=ether\n[Network]\nAddress=%s/24\nGateway=10.0.2.2\n' $address >"$tree/etc/systemd/network/10-guest.network"
  touch "$tree/etc/cloud/cloud-init.disabled"
  echo guest >"$tree/etc/hostname"
  printf '127.0.0.1 localhost\n%s guest\n' $address >"$tree/etc/hosts"
  : >"$tree/etc/resolv.conf"
  echo '/dev/vda / ext4 defaults 0 1' >"$tree/etc/fstab"
  install -d -m 700 "$tree/root/.ssh"
  install -m 600 "$LAB_DIR/ssh_key.pub" "$tree/root/.ssh/authorized_keys"
  rm -f "$tree"/etc/ssh/ssh_host_*
  ssh-keygen -q -t ed25519 -N '' -C guest -f "$tree/etc/ssh/ssh_host_ed25519_key"
  sed 's/^/guest /' "$tree/etc/ssh/ssh_host_ed25519_key.pub" >"$work/known_hosts"
  mkdir -p "$tree/opt/lab"
  cp -a "$bin" "$tree/opt/lab/bin"
  cp -a "$images" "$tree/opt/lab/images"
  rm -f "$work/disk"
  mke2fs -q -t ext4 -d "$tree" "$work/disk" 12G
  rm -rf --one-file-system "$tree"
}

boot() {
  local port=16022
  ssh=(ssh -i "$LAB_DIR/ssh_key" -o UserKnownHostsFile="$work/known_hosts" -o HostKeyAlias=guest -o StrictHostKeyChecking=yes -o LogLevel=ERROR
    -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=30 -o ServerAliveCountMax=10 -p $port root@127.0.0.1)
  # Its disk is thrown away at the end. A /dev/kvm may be there and not work, so only LAB_ACCEL=kvm asks for it.
  qemu-system-x86_64 -accel "${LAB_ACCEL:-tcg}" -cpu max -smp 2 -m $memory -nographic -no-reboot -serial "file:$work/console" -monitor none \
    -kernel "$work/vmlinuz" -initrd "$work/initrd.img" -append 'root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=1' \
    -drive "file=$work/disk,format=raw,if=virtio,snapshot=on" -device virtio-rng-pci \
    -nic "user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:$port-:22" </dev/null >"$LAB_DIR/log/qemu.log" 2>&1 8>&- &
  guest=$!
  trap 'kill $guest 2>/dev/null; wait $guest 2>/dev/null || true' EXIT
  until "${ssh[@]}" true 2>/dev/null; do
    kill -0 $guest 2>/dev/null || { cat "$LAB_DIR/log/qemu.log" >&2; die "the guest ended: see $work/console"; }
    [ $SECONDS -lt $deadline ] || die "the guest did not boot: see $work/console"
    sleep 1
  done
}

# The lab's configuration, without what only the kernel of its hosts demands.
configuration() {
  sed '/^# What the lab.s kernel demands/,/^# The hosts see/d' "$(release_dir)/cluster.yaml"
  printf 'masters:\n- {name: guest, address: %s}\ncontrolPlane: {schedulable: true}\ncontainerRuntime: {manage: true}\nos: {swap: "off"}\n' $address
  # A processor that is emulated is a slow one.
  echo 'timeouts: {imageImport: 20m, kubelet: 20m, etcd: 20m, controlPlane: 20m, node: 20m}'
}

deadline=$((SECONDS + 1800))
key=$(cat "${BASH_SOURCE[0]}" "$(release_dir)/images.done" "$LAB_DIR/ssh_key.pub" | sha256sum)
if [ "$(cat "$work/made" 2>/dev/null)" != "$key" ]; then
  progress "making the guest's disk" make_disk
  echo "$key" >"$work/made"
fi
begun=$SECONDS
boot
echo "lab: the guest booted in $((SECONDS - begun)) s"
"${ssh[@]}" 'cat >/usr/local/bin/nodeinit; chmod 755 /usr/local/bin/nodeinit; mkdir -p /etc/nodeinit' <"$binary"
configuration | "${ssh[@]}" 'cat >/etc/nodeinit/config.yaml'
"${ssh[@]}" 'cat >/root/pods.yaml' <"$here/pods.yaml"
"${ssh[@]}" bash -es <<'END'
dd if=/dev/zero of=/swapfile bs=1M count=64 status=none; chmod 600 /swapfile; mkswap -q /swapfile; swapon /swapfile
echo "kernel $(uname -r), $(stat -fc %T /sys/fs/cgroup), swap $(swapon --noheadings --show=SIZE)"
[ "$(stat -fc %T /sys/fs/cgroup)" = cgroup2fs ]
if lsmod | grep -q '^br_netfilter'; then exit 1; fi
END
begun=$SECONDS
"${ssh[@]}" nodeinit up
echo "lab: nodeinit up took $((SECONDS - begun)) s"
"${ssh[@]}" bash -es <<'END'
export KUBECONFIG=/etc/kubernetes/admin.conf
grep -q 'cgroupDriver: systemd' /var/lib/kubelet/config.yaml
[ -d /sys/fs/cgroup/kubepods.slice ]
lsmod | grep -q '^br_netfilter'
[ -z "$(swapon --noheadings)" ]
ctr -n k8s.io images import /opt/lab/images/tools.tar >/dev/null
kubectl apply -f /root/pods.yaml >/dev/null
kubectl rollout status daemonset/echo --timeout=300s
pod=$(kubectl get pods -l app=echo -o jsonpath='{.items[0].metadata.name}')
for _ in $(seq 60); do
  [ "$(kubectl exec "$pod" -- curl -s -m 5 http://echo.default.svc.cluster.local)" != guest ] || break
  sleep 1
done
[ "$(kubectl exec "$pod" -- curl -s -m 5 http://echo.default.svc.cluster.local)" = guest ]
kubectl logs "$pod" >/dev/null
kubectl get nodes -o wide
nodeinit plan
nodeinit reset --yes >/dev/null
END
echo "lab: a pod runs on the guest's own kernel with cgroup v2, and is reached by its Service"
