#!/usr/bin/env bash
# A virtual machine, with what the lab's hosts do not have: a kernel of its own (Debian's), cgroup v2, systemd's cgroup driver, swap,
# modules, disks, a clock, systemd-resolved and settings of its own, and reboots. With LAB_ACCEL=kvm, it becomes a single master in the
# end; an emulated processor is too slow for that. Prints what it shows: guest.sh BINARY
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
    chrony fdisk locales logrotate lvm2 mdadm systemd-resolved tzdata xfsprogs
  rm -rf "$tree"/var/lib/apt/lists/* "$tree/etc/containerd"
  cp -L "$tree/vmlinuz" "$tree/initrd.img" "$work/"
  chroot "$tree" systemctl disable -q lab-cgroups.service lab-network.service
  chroot "$tree" systemctl unmask -q systemd-networkd.service systemd-networkd.socket
  chroot "$tree" systemctl enable -q systemd-networkd.service
  printf '[Match]\nType=ether\n[Network]\nAddress=%s/24\nGateway=10.0.2.2\n' $address >"$tree/etc/systemd/network/10-guest.network"
  touch "$tree/etc/cloud/cloud-init.disabled"
  echo guest >"$tree/etc/hostname"
  printf '127.0.0.1 localhost\n%s guest\n' $address >"$tree/etc/hosts"
  # apt-get has mounted another file here, so the package could not make its link.
  ln -sfn ../run/systemd/resolve/stub-resolv.conf "$tree/etc/resolv.conf"
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
  local port=16022 disk
  ssh=(ssh -i "$LAB_DIR/ssh_key" -o UserKnownHostsFile="$work/known_hosts" -o HostKeyAlias=guest -o StrictHostKeyChecking=yes -o LogLevel=ERROR
    -o BatchMode=yes -o ConnectTimeout=5 -o ServerAliveInterval=30 -o ServerAliveCountMax=10 -p $port root@127.0.0.1)
  "$here/time-server.py" 123 8>&- &
  time_server=$!
  for disk in vdb vdc; do
    rm -f "$work/$disk"
    truncate -s 4G "$work/$disk"
  done
  # Its disks are thrown away at the end. A /dev/kvm may be there and not work, so only LAB_ACCEL=kvm asks for it.
  qemu-system-x86_64 -accel "${LAB_ACCEL:-tcg}" -cpu max -smp 2 -m $memory -nographic -serial "file:$work/console" -monitor none \
    -kernel "$work/vmlinuz" -initrd "$work/initrd.img" -append 'root=/dev/vda rw console=ttyS0 net.ifnames=0 panic=1' \
    -drive "file=$work/disk,format=raw,if=virtio,snapshot=on" -drive "file=$work/vdb,format=raw,if=virtio" \
    -drive "file=$work/vdc,format=raw,if=virtio" -device virtio-rng-pci \
    -nic "user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:$port-:22" </dev/null >"$LAB_DIR/log/qemu.log" 2>&1 8>&- &
  guest=$!
  trap 'kill $guest $time_server 2>/dev/null; wait $guest 2>/dev/null || true; rm -f "$work/vdb" "$work/vdc"' EXIT
  answers
}

answers() {
  until "${ssh[@]}" true 2>/dev/null; do
    kill -0 $guest 2>/dev/null || { cat "$LAB_DIR/log/qemu.log" >&2; die "the guest ended: see $work/console"; }
    [ $SECONDS -lt $deadline ] || die "the guest did not boot: see $work/console"
    sleep 1
  done
}

# The lab's configuration, without what only the kernel of its hosts demands.
configuration() {
  sed '/^# What the lab.s kernel demands/,/^# The hosts see/d' "$(release_dir)/cluster.yaml"
  printf 'masters:\n- {name: guest, address: %s}\ncontrolPlane: {schedulable: true}\ncontainerRuntime: {manage: true}\n' $address
  # A processor that is emulated is a slow one.
  echo 'timeouts: {imageImport: 20m, kubelet: 20m, etcd: 20m, controlPlane: 20m, node: 20m}'
}

# The settings of `os` that concern the kernel, the clock, disks, and programs that the lab's hosts do not have: `first` or `second` values.
values() {
  case $1 in
  first)
    zone=Europe/Amsterdam maps=262145 ipv6=off files=2000000 locale=en_US.UTF-8 dns=10.0.2.3 search=example.org log=/var/log/test.log
    ;;
  second) zone=Etc/UTC maps=262146 ipv6=on files=1500000 locale=C.UTF-8 dns=10.0.2.2 search=example.net log=/var/log/other.log ;;
  third) # after a boot
    values second
    ipv6=off
    ;;
  esac
}
settings() {
  values "$1"
  cat <<END
os:
  swap: "off"
  timezone: $zone
  locale: $locale
  sysctls: {vm.max_map_count: "$maps"}
  modules: [ip_vs]
  openFiles: $files
  ipv6: "$ipv6"
  dns: {servers: [$dns], search: [$search]}
  timeServers: [10.0.2.2]
  logs: {rotate: [$log]}
  disks:
  - {device: /dev/vdb, partitions: [{size: 2G, mount: /var/lib/etcd}, {volumeGroup: data}]}
  - {device: /dev/vdc, volumeGroup: data}
  volumeGroups:
  - name: data
    volumes:
    - {name: logs, size: 1G, mount: /data/logs, filesystem: xfs}
    - {name: rest, mount: /data}
END
}

# Runs only the steps of these settings: the pods of a cluster are too slow for an emulated processor.
apply() {
  settings "$1" | "${ssh[@]}" 'cat >/etc/nodeinit/conf.d/50-os.yaml'
  "${ssh[@]}" 'for step in os-prepare os-ipv6 os-limits os-dns os-locale os-time os-disks os-logs; do nodeinit phase run $step || exit; done'
}

# Compares the settings with what the system's own programs say, in a login that began after they were set.
is_set() {
  values "$1"
  "${ssh[@]}" bash -es "$zone" "$maps" "$ipv6" "$files" "$locale" "$dns" "$search" "$log" <<'END'
zone=$1 maps=$2 ipv6=$3 files=$4 locale=$5 dns=$6 search=$7 log=$8
is() { [ "$2" = "$3" ] || { echo "$1: $2, not $3" >&2; exit 1; }; }
is sysctl "$(sysctl -n vm.max_map_count)" "$maps"
lsmod | grep -q '^ip_vs '
lsmod | grep -q '^br_netfilter'
is swap "$(swapon --noheadings)" ""
is "time zone" "$(timedatectl show --property=Timezone --value)" "$zone"
systemctl stop systemd-localed # It would keep what it has read for a while.
is locale "$(localectl status | sed -n 's/.*System Locale: *//p')" "LANG=$locale"
is "generated locales" "$(locale -a | grep -x en_US.utf8)" "$(case $locale in en_US*) echo en_US.utf8 ;; esac)"
is "limit of a login" "$(ulimit -Hn)" "$files"
is "limit of services" "$(systemctl show --property=DefaultLimitNOFILE --value)" "$files"
[ "$(sysctl -n fs.nr_open)" -ge "$files" ] || { echo "fs.nr_open: $(sysctl -n fs.nr_open), below $files" >&2; exit 1; }
is IPv6 "$(sysctl -n net.ipv6.conf.all.disable_ipv6 net.ipv6.conf.default.disable_ipv6 | xargs)" "$([ "$ipv6" = on ] && echo '0 0' || echo '1 1')"
case $ipv6 in
on) ip -6 address show dev eth0 | grep -q 'inet6 fe80' ;;
off) is "IPv6 addresses" "$(ip -6 address)" "" ;;
esac
is "name servers" "$(resolvectl dns | sed -n 's/^Global: *//p')" "$dns"
is "search domains" "$(resolvectl domain | sed -n 's/^Global: *//p')" "$search"
grep -qx "search $search" /etc/resolv.conf
is "rotated logs" "$(logrotate --debug /etc/logrotate.conf 2>&1 | grep -oE '/var/log/(test|other)\.log' | sort -u | xargs)" "$log"
is servers "$(chronyc -n -c sources | cut -d, -f3 | xargs)" 10.0.2.2
chronyc waitsync 60 1 0 1 >/dev/null
is clock "$(timedatectl show --property=NTPSynchronized --value)" yes
is partitions "$(lsblk -nro NAME,TYPE /dev/vdb | awk '$2 == "part" {print $1}' | xargs)" "vdb1 vdb2"
is "physical volumes" "$(pvs --noheadings --options pv_name --select vg_name=data | xargs)" "/dev/vdb2 /dev/vdc"
is volumes "$(lvs --noheadings --options lv_name,lv_size --units g data | xargs)" "logs 1.00g rest 4.99g"
is mounts "$(for mount in /var/lib/etcd /data /data/logs; do findmnt -rno FSTYPE,SOURCE "$mount"; done | xargs)" \
  "ext4 /dev/vdb1 ext4 /dev/mapper/data-rest xfs /dev/mapper/data-logs"
is fstab "$(grep -c '^UUID=.*,nofail' /etc/fstab)" 3
nodeinit plan --output json >/tmp/plan || [ $? = 2 ]
if grep '"step":"os-' /tmp/plan; then exit 1; fi
END
}

key=$(cat "${BASH_SOURCE[0]}" "$(release_dir)/images.done" "$LAB_DIR/ssh_key.pub" | sha256sum)
if [ "$(cat "$work/made" 2>/dev/null)" != "$key" ]; then
  progress "making the guest's disk" make_disk
  echo "$key" >"$work/made"
fi
begun=$SECONDS
deadline=$((SECONDS + 1500))
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
echo 'lab: a disk with data is never formatted'
"${ssh[@]}" bash -es <<'END'
mkdir -p /etc/nodeinit/conf.d
device() { # NAME: a device of 320 MiB, the least for XFS
  truncate -s 320M "/var/tmp/$1"
  losetup --find --show "/var/tmp/$1"
}
declare -A devices
for kind in ext4 xfs lvm raid table swap; do devices[$kind]=$(device $kind); done
mkfs.ext4 -q "${devices[ext4]}"
mkfs.xfs -q "${devices[xfs]}"
pvcreate -q "${devices[lvm]}"
mdadm --quiet --create /dev/md9 --level=1 --raid-devices=2 --run --metadata=1.2 "${devices[raid]}" missing </dev/null
mdadm --quiet --stop /dev/md9
echo 'label: gpt' | sfdisk --quiet "${devices[table]}"
mkswap -q "${devices[swap]}"
for kind in "${!devices[@]}"; do
  device=${devices[$kind]}
  before=$(head -c 8M "$device" | sha256sum)
  for use in 'mount: /refused' 'partitions: [{mount: /refused}]' 'volumeGroup: refused'; do
    printf 'os:\n  disks: [{device: %s, %s}]\n' "$device" "$use" >/etc/nodeinit/conf.d/50-os.yaml
    case $use in volumeGroup*) echo '  volumeGroups: [{name: refused, volumes: [{name: a, mount: /refused}]}]' >>/etc/nodeinit/conf.d/50-os.yaml ;; esac
    if nodeinit phase run os-disks >/tmp/refused 2>&1; then echo "a device with $kind was not refused for $use" >&2; exit 1; fi
    grep -q "$device is not empty: it has" /tmp/refused || { cat /tmp/refused >&2; exit 1; }
  done
  [ "$before" = "$(head -c 8M "$device" | sha256sum)" ]
  losetup --detach "$device"
done
if grep refused /etc/fstab; then exit 1; fi
rm /etc/nodeinit/conf.d/50-os.yaml
echo '/swapfile none swap defaults 0 0' >>/etc/fstab
systemctl daemon-reload
sysctl -qw fs.nr_open=1048576 # The kernel's default, which systemd raises on some distributions.
cp /etc/fstab /etc/chrony/chrony.conf /root/
cat >/root/state <<'STATE'
readlink -f /etc/localtime; sysctl vm.max_map_count; swapon --noheadings --show=NAME; findmnt -rno TARGET /data /var/lib/etcd || true
cmp /etc/fstab /root/fstab; cmp /etc/chrony/chrony.conf /root/chrony.conf; cat /etc/modules-load.d/* /etc/sysctl.d/*
sysctl fs.nr_open net.ipv6.conf.all.disable_ipv6 net.ipv6.conf.default.disable_ipv6
systemctl show --property=DefaultLimitNOFILE --value; ls /etc/security/limits.d /etc/systemd/*.conf.d /etc/logrotate.d 2>/dev/null
cat /etc/default/locale /etc/locale.gen; locale -a; resolvectl dns; resolvectl domain
STATE
sh /root/state >/root/before
END
apply first
is_set first
echo 'lab: the kernel, the clock, disks, locales, name servers, limits and logs are set up'
apply second
is_set second
echo 'lab: they are set up with other values'
apply third
boot_id=$("${ssh[@]}" cat /proc/sys/kernel/random/boot_id)
"${ssh[@]}" systemctl reboot || true
sleep 5
until [ "$("${ssh[@]}" cat /proc/sys/kernel/random/boot_id 2>/dev/null || echo "$boot_id")" != "$boot_id" ]; do
  [ $SECONDS -lt $deadline ] || die "the guest did not boot again: see $work/console"
  sleep 1
done
is_set third
echo 'lab: all of this is there after a reboot'
"${ssh[@]}" bash -es <<'END'
nodeinit reset --yes >/dev/null
sh /root/state >/root/after
diff /root/before /root/after
END
echo 'lab: reset restored what was there before'
if [ "${LAB_ACCEL:-}" != kvm ]; then
  echo 'lab: the cluster was NOT run: its pods are too slow for an emulated processor; LAB_ACCEL=kvm runs it, on a machine with KVM'
  exit 0
fi

settings first | "${ssh[@]}" 'cat >/etc/nodeinit/conf.d/50-os.yaml'
begun=$SECONDS
"${ssh[@]}" nodeinit up
echo "lab: nodeinit up took $((SECONDS - begun)) s"
is_set first
"${ssh[@]}" bash -es <<'END'
export KUBECONFIG=/etc/kubernetes/admin.conf
[ -d /var/lib/etcd/member ]
grep -q 'cgroupDriver: systemd' /var/lib/kubelet/config.yaml
[ -d /sys/fs/cgroup/kubepods.slice ]
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
mount /dev/vdb1 /mnt
[ "$(ls /mnt)" = lost+found ] || { echo "etcd's disk has $(ls /mnt)" >&2; exit 1; }
END
echo "lab: a pod runs on the guest's own kernel with cgroup v2, and is reached by its Service"
