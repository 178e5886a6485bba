#!/usr/bin/env bash
# Packs nodeinit, and the kubelet and CNI plugins of a bundle, as one system extension (systemd-sysext): see --help and README.md.
# The same files give the same bytes.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
units=$here/../../systemd

usage() {
  cat <<END
usage: build.sh [--public-key FILE] NODEINIT BUNDLE DESTINATION
  NODEINIT           the program
  BUNDLE             what \`nodeinit artifacts bundle\` wrote
  DESTINATION        NAME.raw: a squashfs image; another name: a new directory. Keep the name: systemd-sysext compares it with the content
  --public-key FILE  the key that must have signed the bundle
END
}
die() { echo "build.sh: $*" >&2; exit 1; }

key=()
while [ $# -gt 0 ]; do
  case $1 in
  -h | --help) usage; exit 0 ;;
  --public-key) [ $# -gt 1 ] || die "--public-key needs a file"; key=(--public-key "$2"); shift ;;
  -*) usage >&2; exit 64 ;;
  *) break ;;
  esac
  shift
done
[ $# = 3 ] || { usage >&2; exit 64; }
nodeinit=$(realpath "$1") bundle=$(realpath "$2") destination=$(realpath -m "$3")
name=$(basename "${destination%.raw}")
[[ $name =~ ^[a-z0-9.-]+$ ]] || die "$name is not a name for an extension: use a-z, 0-9, dots and dashes"
[ -f "$bundle" ] || die "$bundle is not a file: write a bundle with \`nodeinit artifacts bundle\`"
"$nodeinit" version >/dev/null || die "$nodeinit does not run on this machine ($(uname -m))"
case $destination in
*.raw) command -v mksquashfs >/dev/null || die "mksquashfs is missing: install squashfs-tools, or write a directory" ;;
*) [ ! -e "$destination" ] || die "$destination exists: remove it, or choose another name" ;;
esac

mkdir -p "$(dirname "$destination")"
# Beside the destination, so that it appears whole or not at all.
tree=$(mktemp -d "$(dirname "$destination")/.$name.XXXXXX")
trap 'rm -rf "$tree" "$tree.raw"' EXIT
trap 'exit 130' INT TERM
umask 022
chmod 755 "$tree"

"$nodeinit" artifacts verify "$bundle" "${key[@]}" >/dev/null || die "$bundle cannot be used"
index=$(tar -xOf "$bundle" bundle.json)
version=$(sed -n 's/^ *"kubernetesVersion": "\(.*\)",$/\1/p' <<<"$index")
case $(sed -n 's/^ *"architecture": "\(.*\)",$/\1/p' <<<"$index") in
amd64) architecture=x86-64 ;;
arm64) architecture=arm64 ;;
*) die "$bundle is for an unknown architecture" ;;
esac

place() { # FILE
  case $1 in
  bin/kubelet | bin/kubectl | bin/kubeadm) echo "usr/$1" ;;
  # Not in /opt/cni/bin: an extension with a folder in /opt makes all of /opt read-only, and flannel writes its plugin there.
  bin/bridge | bin/host-local | bin/loopback | bin/portmap) echo "usr/libexec/nodeinit/cni/${1#bin/}" ;;
  esac
}
mapfile -t members < <(tar -tf "$bundle")
for member in "${members[@]}"; do
  to=$(place "$member")
  [ -n "$to" ] || continue
  mkdir -p "$(dirname "$tree/$to")"
  tar -xOf "$bundle" "$member" >"$tree/$to"
  chmod 755 "$tree/$to"
done
[ -e "$tree/usr/bin/kubelet" ] || die "$bundle has no bin/kubelet"
install "$nodeinit" "$tree/usr/bin/nodeinit"
install -Dm 644 "$units/nodeinit.service" "$tree/usr/lib/systemd/system/nodeinit.service"
# usr/lib/modules: kube-proxy's pod mounts it, and a system without it could not create it in a read-only /usr.
mkdir -p "$tree/usr/lib/modules" "$tree/usr/lib/systemd/system/nodeinit.service.d" "$tree/usr/lib/tmpfiles.d" "$tree/usr/lib/extension-release.d"
{
  echo "# containerd and flannel use /opt/cni/bin."
  for plugin in "$tree"/usr/libexec/nodeinit/cni/*; do
    # Not L+: `upgrade` puts newer plugins there.
    echo "L /opt/cni/bin/${plugin##*/} - - - - /usr/libexec/nodeinit/cni/${plugin##*/}"
  done
} >"$tree/usr/lib/tmpfiles.d/$name.conf"
# For an extension that is merged after the boot.
printf '[Service]\nExecStartPre=-systemd-tmpfiles --create /usr/lib/tmpfiles.d/%s.conf\n' "$name" >"$tree/usr/lib/systemd/system/nodeinit.service.d/10-extension.conf"
# For each distribution with systemd 252 or newer: everything in it is static.
printf 'ID=_any\nARCHITECTURE=%s\nEXTENSION_RELOAD_MANAGER=1\n' "$architecture" >"$tree/usr/lib/extension-release.d/extension-release.$name"

case $destination in
*.raw)
  mksquashfs "$tree" "$tree.raw" -noappend -quiet -no-progress -all-root -comp zstd -mkfs-time 0 -all-time 0 >/dev/null
  chmod 644 "$tree.raw"
  mv "$tree.raw" "$destination"
  ;;
*)
  mv "$tree" "$destination"
  ;;
esac
echo "build.sh: $destination has nodeinit and the kubelet $version for $architecture"
