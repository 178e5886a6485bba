#!/usr/bin/env bash
# Makes all that hosts share, each once per version: packages, programs, the root file system, container images.
# Prints three lines: the folder of programs, the folder of images, the root.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ "$(id -u)" = 0 ] || die "the lab boots real hosts and needs root rights; try sudo"
need systemd-nspawn=systemd-container ip=iproute2 ssh=openssh-client python3=python3 pkill=procps modprobe=kmod

bin=$("$lab/build-kubernetes.sh")
root=$("$lab/make-root.sh")
release=$(release_dir)
images=$release/images
made_from() {
  echo "$root"
  cat "$lab/images.py" "$lab/flannel-cni.sh" "$lab/cni/go.mod"
  find "$bin" -maxdepth 1 -type f -printf '%f %s %T@\n' | sort
}
key=$(made_from | sha256sum)
if [ "$(cat "$release/images.done" 2>/dev/null)" != "$key" ]; then
  only_one images
  if [ "$(cat "$release/images.done" 2>/dev/null)" != "$key" ]; then
    rm -rf "$images.new"
    mkdir -p "$images.new"
    progress "packing images" "$lab/images.py" "$bin" "$root" "$images.new"
    rm -rf "$images"
    mv "$images.new" "$images"
    echo "$key" >"$release/images.done"
  fi
fi
printf '%s\n' "$bin" "$images" "$root"
