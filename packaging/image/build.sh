#!/usr/bin/env bash
# Bakes nodeinit, containerd, and the programs and images of a bundle into a Debian root: see --help.
# A second run with the same files changes nothing; an interrupted one is repeated.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
units=$here/../../systemd

usage() {
  cat <<END
usage: build.sh [OPTION]... ROOT NODEINIT BUNDLE
  ROOT               a directory with Debian's root file system, a raw disk image that contains one, or / for this machine
  NODEINIT           the program
  BUNDLE             what \`nodeinit artifacts bundle\` wrote
  --public-key FILE  the key that must have signed the bundle
  --archives         copy the bundle to /opt/kubernetes.tar instead of importing its images: the image is smaller, the first boot slower.
                     Needed where containerd cannot mount overlays, such as in a container's own root
  --first-boot       start nodeinit at the first boot only, not at each boot
  --strict           narrow the service's sandbox: for machines without swap whose configuration has no section \`os\`
  --console          show nodeinit's progress on the console, too
END
}
die() { echo "build.sh: $*" >&2; exit 1; }
say() { echo "build.sh: $*"; }

archives='' first_boot='' strict='' console='' key=()
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help) usage; exit 0 ;;
  --public-key) [ $# -gt 1 ] || die "--public-key needs a file"; key=(--public-key "$2"); shift ;;
  --archives) archives=1 ;;
  --first-boot) first_boot=1 ;;
  --strict) strict=1 ;;
  --console) console=1 ;;
  -*) usage >&2; exit 64 ;;
  *) break ;;
  esac
  shift
done
[ $# = 3 ] || { usage >&2; exit 64; }
[ "$(id -u)" = 0 ] || die "run it as root: it mounts file systems and writes files of root"
target=$1 nodeinit=$(realpath "$2") bundle=$(realpath "$3")
if [ -d "$nodeinit" ] || [ ! -x "$nodeinit" ]; then die "$nodeinit is not a program"; fi
[ -f "$bundle" ] || die "$bundle is not a file: write a bundle with \`nodeinit artifacts bundle\`"
# NODEINIT itself checks the bundle: it must run here.
"$nodeinit" version >/dev/null || die "$nodeinit does not run on this machine ($(uname -m)): build the image on a machine of its architecture"

work=$(mktemp -d)
mounted=''
finish() {
  [ -z "$mounted" ] || umount "$work/root" || echo "build.sh: $work/root is still mounted" >&2
  rm -rf --one-file-system "$work"
}
trap finish EXIT
trap 'exit 130' INT TERM

# --- the root ---
partition() { # IMAGE: prints offset and size, in bytes, of the partition with the root: by its type, else the largest one with Linux
  local sector
  sector=$(sfdisk --dump "$1" 2>/dev/null | sed -n 's/^sector-size: //p')
  sfdisk --dump "$1" 2>/dev/null | awk -F'[=, ]+' -v sector="${sector:-512}" '
    / : start=/ {
      for (i = 1; i < NF; i++) { if ($i == "start") start = $(i + 1); if ($i == "size") size = $(i + 1); if ($i == "type") type = $(i + 1) }
      rank = type ~ /^(4F68BCE3|B921B045)/ ? 2 : type ~ /^(0FC63DAF|83$)/ ? 1 : 0
      if (rank > best || (rank == best && rank && size > most)) { best = rank; most = size; first = start }
    }
    END { if (best) printf "%.0f %.0f\n", first * sector, most * sector }'
}
[ -e "$target" ] || die "$target does not exist"
exec 8<"$target"
flock -n 8 || die "another build.sh works on $target"
if [ -f "$target" ]; then
  [ "$(head -c 3 "$target" | tr -d '\0')" != QFI ] || die "$target is a qcow2 image: convert it with \`qemu-img convert -O raw\`"
  mkdir "$work/root"
  if [ -n "$(sfdisk --dump "$target" 2>/dev/null)" ]; then
    read -r offset size < <(partition "$target") || die "$target has no partition of Linux"
    mount -o "loop,offset=$offset,sizelimit=$size" "$target" "$work/root"
  else
    mount -o loop "$target" "$work/root"
  fi || die "cannot mount the root file system in $target"
  mounted=1
  root=$work/root
elif [ -d "$target" ]; then
  root=$(realpath "$target")
else
  die "$target is neither a directory nor a disk image"
fi
root=${root%/} # empty for this machine
[ -e "$root/etc/os-release" ] || die "$target has no /etc/os-release: it is not a root file system"
in_root() { chroot "${root:-/}" env LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
has() { in_root sh -c "command -v $1" >/dev/null; }
# Without these, preflight fails at the first boot.
missing=()
for pair in systemctl=systemd ip=iproute2 iptables=iptables nft=nftables modprobe=kmod; do has "${pair%=*}" || missing+=("${pair#*=}"); done
[ ${#missing[@]} = 0 ] || die "these packages are missing in $target: ${missing[*]}; install them there with apt-get"
[ ! -e "$root/var/lib/nodeinit/journal.jsonl" ] || die "$target has the journal of a machine that nodeinit has set up: start from a fresh root"

# --- the bundle ---
"$nodeinit" artifacts verify "$bundle" "${key[@]}" >"$work/verified" || die "$bundle cannot be used"
tar -xf "$bundle" -C "$work" bundle.json
mapfile -t members < <(tar -tf "$bundle")
version=$(sed -n 's/^ *"kubernetesVersion": "\(.*\)",$/\1/p' "$work/bundle.json")
architecture=$(sed -n 's/^ *"architecture": "\(.*\)",$/\1/p' "$work/bundle.json")
pause=$(sed -n 's/^ *"source": "\(.*\/pause:.*\)",$/\1/p' "$work/bundle.json")
[ -n "$version" ] || die "$bundle names no version of Kubernetes"
needed=$((3 * $(stat -c %s "$bundle") / 1048576))
free=$(($(stat -f -c '%a * %S' "${root:-/}") / 1048576))
baked=$root/usr/lib/nodeinit/baked
[ -e "$baked" ] || [ "$free" -ge "$needed" ] || die "$target has $free MiB free, but needs $needed MiB: enlarge its file system"

destination() { # MEMBER: prints where nodeinit installs it
  case $1 in
  bin/kubelet | bin/kubectl | bin/kubeadm) echo "/usr/$1" ;;
  bin/containerd | bin/containerd-shim-runc-v2 | bin/ctr) [ -n "$own_containerd" ] || echo "/usr/local/$1" ;;
  bin/runc) [ -n "$own_containerd" ] || echo /usr/local/sbin/runc ;;
  bin/bridge | bin/host-local | bin/loopback | bin/portmap) echo "/opt/cni/$1" ;;
  bin/*) die "$bundle has $1, and this script does not know where it belongs" ;;
  esac
}
put() { # MODE DESTINATION, content on standard input: replaces the file only if it differs, whole or not at all
  cat >"$work/new"
  ! cmp -s "$work/new" "$2" || [ "$(stat -c %a "$2")" != "$1" ] || return 0
  mkdir -p "$(dirname "$2")"
  cp "$work/new" "$2.new"
  chmod "$1" "$2.new"
  mv "$2.new" "$2"
}

# containerd of a package, and not the one that an earlier run has installed.
own_containerd=''
[ -e "$root/usr/local/bin/containerd" ] || ! has containerd || own_containerd=1
[ -n "$own_containerd" ] || [[ " ${members[*]} " == *" bin/containerd "* ]] ||
  die "there is no containerd in $target and none in $bundle: fetch the artifacts without \`containerRuntime.manage: false\`, or install Debian's package"
for member in "${members[@]}"; do
  case $member in bin/*) ;; *) continue ;; esac
  to=$(destination "$member")
  [ -z "$to" ] || tar -xOf "$bundle" "$member" | put 755 "$root$to"
done
put 755 "$root/usr/bin/nodeinit" <"$nodeinit"

# --- containerd ---
[ -n "$own_containerd" ] || sed "s#\${program}#/usr/local/bin/containerd#" "$units/containerd.service" | put 644 "$root/etc/systemd/system/containerd.service"
written='# Written by packaging/image/build.sh.'
toml=$root/etc/containerd/config.toml
if [ ! -e "$toml" ] || [ "$(head -n 1 "$toml")" = "$written" ]; then
  # What nodeinit would set, so that it finds nothing to change and does not restart containerd at the first boot.
  case $(in_root containerd --version) in
  *" v2."* | *" 2."*)
    put 644 "$toml" <<END
$written
version = 3
imports = ["/etc/containerd/conf.d/*.toml"]

[plugins."io.containerd.cri.v1.images".pinned_images]
  sandbox = "$pause"
[plugins."io.containerd.cri.v1.images".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.cri.v1.runtime".cni]
  bin_dirs = ["/opt/cni/bin"]
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.cri.v1.runtime".containerd.runtimes.runc.options]
  SystemdCgroup = true
END
    ;;
  *)
    put 644 "$toml" <<END
$written
version = 2

[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "$pause"
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/opt/cni/bin"
[plugins."io.containerd.grpc.v1.cri".registry]
  config_path = "/etc/containerd/certs.d"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
[plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
  SystemdCgroup = true
END
    ;;
  esac
else
  say "/etc/containerd/config.toml is kept: set \`containerRuntime.manage: true\`, and nodeinit adapts it at the first boot"
fi

# Imports into the store that the machine will use, with the machine's own containerd in namespaces of its own: no socket, mount or process
# of it is left. The images are unpacked, too, and pinned: with a newer containerd, the kubelet does not remove them when the disk is full.
import() {
  # It ends with this script, also if that is killed.
  setpriv --pdeathsig KILL unshare --mount --pid --fork --kill-child bash -euo pipefail -s -- "${root:-/}" "$bundle" "${images[@]}" <<'END'
root=$1
exec 7<"$2" # a tmpfs is about to hide /run
shift 2
mount -t proc proc "$root/proc"
[ "$root" = / ] || mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 build "$root/run"
mkdir "$root/run/tmp"
cat >"$root/run/config.toml" <<'TOML'
version = 2
root = "/var/lib/containerd"
state = "/run/containerd"
temp = "/run/tmp"
disabled_plugins = ["io.containerd.grpc.v1.cri", "io.containerd.cri.v1.images", "io.containerd.cri.v1.runtime",
  "io.containerd.nri.v1.nri", "io.containerd.tracing.processor.v1.otlp", "io.containerd.internal.v1.tracing"]
[grpc]
  address = "/run/containerd.sock"
TOML
in_root() { chroot "$root" env LC_ALL=C PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"; }
in_root containerd --config /run/config.toml --log-level warn >"$root/run/log" 2>&1 &
containerd=$!
ctr() { in_root ctr --address /run/containerd.sock --namespace k8s.io "$@"; }
fail() { echo "build.sh: $*" >&2; sed 's/^/  containerd: /' "$root/run/log" >&2; exit 1; }
for _ in $(seq 150); do
  [ ! -S "$root/run/containerd.sock" ] || ! ctr version >/dev/null 2>&1 || break
  kill -0 $containerd 2>/dev/null || fail "containerd ended; if another one runs on $root, stop it"
  sleep 0.1
done
ctr version >/dev/null 2>&1 || fail "containerd did not answer within 15 s"
plugins=$(ctr plugins ls)
grep -q 'snapshotter.* overlayfs .*ok' <<<"$plugins" || fail "containerd cannot mount overlays on $root: use another file system, or --archives"
for image in "$@"; do
  echo "build.sh: importing $image"
  tar -xOf /proc/self/fd/7 "$image" >"$root/run/image.tar" || fail "cannot read $image"
  ctr images import /run/image.tar >/dev/null || fail "cannot import $image"
done
for name in $(ctr images ls -q); do
  case $name in sha256:*) continue ;; esac
  ctr images label "$name" io.cri-containerd.pinned=pinned >/dev/null
done
[ -z "$(ctr images check | awk 'NR > 1 && !/ complete .* true *$/ {print $1}')" ] || fail "an image is incomplete: $(ctr images check)"
kill -TERM $containerd
wait $containerd || true
sync -f "$root/var/lib/containerd"
END
}

# What the store holds: a bundle, imported by a containerd. Written last, so that an interrupted run is repeated.
images=()
for member in "${members[@]}"; do case $member in images/*) images+=("$member") ;; esac; done
if [ -n "$archives" ]; then
  cmp -s "$bundle" "$root/opt/kubernetes.tar" || put 644 "$root/opt/kubernetes.tar" <"$bundle"
  content="archives $(sha256sum <"$work/bundle.json" | cut -d' ' -f1)"
else
  content="imported $(sha256sum <"$work/bundle.json" | cut -d' ' -f1) by $(in_root containerd --version | awk '{print $3}')"
  if [ "$(cat "$baked" 2>/dev/null)" = "$content" ] && [ -d "$root/var/lib/containerd" ]; then
    say "the images are imported already"
  else
    rm -f "$baked"
    import
  fi
fi
put 644 "$baked" <<<"$content"

# --- the service ---
put 644 "$root/usr/lib/systemd/system/nodeinit.service" <"$units/nodeinit.service"
option() { # NAME WANTED
  local drop_in=/usr/lib/systemd/system/nodeinit.service.d/$1
  if [ -n "$2" ]; then put 644 "$root$drop_in" <"$units/nodeinit.service.d/$1"; else rm -f "$root$drop_in"; fi
}
option 20-first-boot.conf "$first_boot"
option 20-strict.conf "$strict"
mkdir -p "$root/usr/lib/modules" # an image without a kernel: nodeinit could not create it with --strict
option 20-console.conf "$console"
# At a first boot, systemd would enable every unit of Debian's packages, also those that are disabled on purpose.
preset=$root/usr/lib/systemd/system-preset/00-nodeinit.preset
if [ -n "$first_boot" ]; then put 644 "$preset" <<<'disable *'; else rm -f "$preset"; fi
in_root systemctl enable --quiet nodeinit.service containerd.service

# --- what each machine must have of its own ---
if [ -n "$root" ]; then
  if [ -n "$first_boot" ]; then id=uninitialized; else id=''; fi
  if [ ! -e "$root/etc/machine-id" ] || [ "$(cat "$root/etc/machine-id")" != "$id" ]; then
    say "/etc/machine-id is reset: each machine gets its own"
    printf %s "${id:+$id$'\n'}" | put 444 "$root/etc/machine-id"
  fi
  # systemd would take the ID of the image from there.
  if [ -f "$root/var/lib/dbus/machine-id" ] && [ ! -L "$root/var/lib/dbus/machine-id" ]; then ln -sf /etc/machine-id "$root/var/lib/dbus/machine-id"; fi
  rm -f "$root/var/lib/systemd/random-seed"
  if compgen -G "$root/etc/ssh/ssh_host_*_key" >/dev/null; then
    say "the SSH host keys are removed: each machine must generate its own at its first boot (cloud-init does)"
    rm -f "$root"/etc/ssh/ssh_host_*_key "$root"/etc/ssh/ssh_host_*_key.pub
  fi
fi

if [ -n "$archives" ]; then source=/opt/kubernetes.tar; else source=image; fi
say "Kubernetes $version for $architecture is in $target; configure its machines with
  kubernetes: {version: $version}
  artifacts: {source: $source}"
