#!/usr/bin/env bash
# Builds programs that only some tests need, and packs them as images with the upstream names: addons.sh NAME... (a folder of addons/, or busybox,
# which consists of a few programs of Debian).
# Each image is built once per version. Hosts see it as /opt/lab/images/addons/NAME.tar.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
{ read -r bin; read -r images; read -r root; } < <("$lab/prepare.sh")
kept=$LAB_DIR/part/addons
mkdir -p "$kept" "$images/addons"

# Prints the Go package, the path of the program in the image, and the name of the image; the tag is the version of the module.
describe() { # NAME
  case $1 in
  kube-vip) echo github.com/kube-vip/kube-vip /kube-vip ghcr.io/kube-vip/kube-vip ;;
  metrics-server) echo sigs.k8s.io/metrics-server/cmd/metrics-server /metrics-server registry.k8s.io/metrics-server/metrics-server ;;
  local-path-provisioner) echo github.com/rancher/local-path-provisioner /usr/bin/local-path-provisioner docker.io/rancher/local-path-provisioner ;;
  kube-state-metrics) echo k8s.io/kube-state-metrics/v2 /kube-state-metrics registry.k8s.io/kube-state-metrics/kube-state-metrics ;;
  node-exporter) echo github.com/prometheus/node_exporter /bin/node_exporter quay.io/prometheus/node-exporter ;;
  etcd-3.6) echo go.etcd.io/etcd/server/v3 /usr/local/bin/etcd registry.k8s.io/etcd ;;
  busybox) echo - /bin/dash:/bin/mkdir:/bin/rm docker.io/library/busybox ;;
  *) die "unknown addon $1: choose from $(cd "$lab/addons" && echo *) busybox" ;;
  esac
}

pack='
import sys
sys.path.insert(0, sys.argv[4])
import images
file, path, image = sys.argv[5:]
if file:
    images.write_image(image, {path: file}, None, [path])
else:
    images.write_image(image, images.from_root(*path.split(":")), {"/bin/sh": "dash"}, ["/bin/sh"])'

for name in "$@"; do
  described=$(describe "$name")
  read -r package path image <<<"$described"
  at=1.37.0 recipe=$lab/addons.sh
  if [ "$package" != - ]; then
    recipe=$lab/addons/$name/go.mod
    at=$(sed -nE 's#^require \S+ (v\S+)$#\1#p' "$recipe" | head -n 1)
  fi
  tag=$at # Kubernetes publishes etcd TAG as TAG-0
  [ "${name%-*}" != etcd ] || tag=${at#v}-0
  archive=$kept/$name-$at-$(cat "$lab/images.py" "$recipe" | sha256sum | cut -c1-12).tar
  if [ ! -e "$archive" ]; then
    only_one "addon-$name"
    if [ ! -e "$archive" ]; then
      program=$(mktemp -d)
      [ "$package" = - ] || (cd "$lab/addons/$name" && CGO_ENABLED=0 GOFLAGS="-trimpath -buildvcs=false" progress "building $name $at" \
        go build -ldflags "-s -w" -o "$program/$name" "$package")
      file=$program/$name
      [ -e "$file" ] || file=
      progress "packing $name" python3 -c "$pack" "$bin" "$root" "$program" "$lab" "$file" "$path" "$image:$tag"
      mv "$program/$(basename "$image").tar" "$archive"
      rm -r "$program"
    fi
  fi
  ln -f "$archive" "$images/addons/$name.tar"
  # The version of etcd that an upgrade needs is an artifact of the release.
  [ "${name%-*}" != etcd ] || ln -f "$archive" "$images/etcd-$tag.tar"
done
