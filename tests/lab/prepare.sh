#!/usr/bin/env bash
# Prepares the shared parts of all hosts, once per version: packages, programs, the root file system, container images, the configuration.
# Prints three lines: the folder of programs, the folder of images, the root.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ "$(id -u)" = 0 ] || die "the lab boots hosts and needs root; try sudo"
need systemd-nspawn=systemd-container ip=iproute2 ssh=openssh-client python3=python3 pkill=procps modprobe=kmod

release=$(release_dir)
images=$release/images
made_from() {
  echo "$root"
  cat "$lab/images.py" "$lab/flannel-cni.sh" "$lab/cni/go.mod"
  find "$bin" -maxdepth 1 -type f -printf '%f %s %T@\n' | sort
}
pack_images() {
  local key
  key=$(made_from | sha256sum)
  [ "$(cat "$release/images.done" 2>/dev/null)" != "$key" ] || return 0
  only_one images
  [ "$(cat "$release/images.done" 2>/dev/null)" != "$key" ] || return 0
  rm -rf "$images.new"
  mkdir -p "$images.new"
  progress "packing images" "$lab/images.py" "$bin" "$root" "$images.new"
  rm -rf "$images"
  mv "$images.new" "$images"
  echo "$key" >"$release/images.done"
}
if [ "${LAB_ARTIFACTS:-}" = official ]; then
  root=$(LAB_DEBIAN=12 "$lab/make-root.sh")
  "$lab/fetch-official.sh" "$root"
  bin=$(bin_dir)
else
  bin=$("$lab/build-kubernetes.sh")
  root=$(LAB_DEBIAN=12 "$lab/make-root.sh")
  pack_images
fi
# Writes cluster.yaml with the version and the images of this release.
awk -v version="$(sed -n 's/^kube-apiserver.tar .*://p' "$images/names")" '
  NR == FNR { name["images/" $1] = $2; next }
  $1 == "version:" { sub(/v[0-9.]+/, version) }
  match($0, /images\/[a-z-]+\.tar/) { sub(/"[^"]*"/, "\"" name[substr($0, RSTART, RLENGTH)] "\"") }
  { print }' "$images/names" "$lab/cluster.yaml" >"$release/cluster.yaml.$$"
mv "$release/cluster.yaml.$$" "$release/cluster.yaml"
printf '%s\n' "$bin" "$images" "$([ "$debian" = 12 ] && echo "$root" || "$lab/make-root.sh")"
