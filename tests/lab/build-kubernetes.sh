#!/usr/bin/env bash
# Builds Kubernetes ($LAB_VERSION), etcd, CoreDNS, pause and the pod network's programs, once per version; prints where they are.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
programs="kube-apiserver kube-controller-manager kube-scheduler kube-proxy kubelet kubeadm kubectl
  etcd etcdctl etcdutl coredns pause bridge host-local loopback portmap flannel"

if [ -n "${LAB_BIN:-}" ]; then
  missing=()
  for p in $programs; do [ -x "$LAB_BIN/$p" ] || missing+=("$p"); done
  [ ${#missing[@]} = 0 ] || die "LAB_BIN=$LAB_BIN lacks ${missing[*]}"
  bin_dir
  exit 0
fi
bin=$(bin_dir)
# A changed recipe is followed again; parts that did not change are there already.
key=$(cat "${BASH_SOURCE[0]}" "$lab"/*/go.mod "$lab"/*/*.go | sha256sum)
is_built() { [ "$(cat "$bin/.done" 2>/dev/null)" = "$key" ]; }
! is_built || { echo "$bin"; exit 0; }
only_one build
! is_built || { echo "$bin"; exit 0; }
command -v go >/dev/null || die "Go 1.26 or newer is needed to build Kubernetes (or LAB_BIN=FOLDER with ready-made programs): see https://go.dev/doc/install"
need gcc=gcc
[ -e /usr/include/stdlib.h ] || progress "installing libc6-dev" install_packages libc6-dev
export GOFLAGS="-trimpath -buildvcs=false"

# pin NAME MODULE: the version of MODULE that NAME/go.mod requires
pin() { sed -nE "s#^(require)?\s*$2 (v\S+).*#\2#p" "$lab/$1/go.mod"; }

# part NAME VERSION CGO DIRECTORY LDFLAGS PACKAGE...: builds once per name and version, and links the programs into the release
part() {
  local name=$1 at=$2 cgo=$3 dir=$4 flags=$5 out=$LAB_DIR/part/$1@$2
  shift 5
  if [ ! -e "$out" ]; then
    rm -rf "$out.new"
    mkdir -p "$out.new"
    (cd "$dir" && CGO_ENABLED=$cgo progress "building $name $at" go build -ldflags "-s -w $flags" -o "$out.new/" "$@")
    [ ! -e "$out.new/server" ] || mv "$out.new/server" "$out.new/etcd"
    mv "$out.new" "$out"
  fi
  cp -lf "$out"/* "$bin/"
}

# module NAME VERSION MODULE...: where NAME's modules are required at that version: in the lab's own go.mod, or in one made beside it
module() (
  set -e # a command substitution does not inherit it
  name=$1 at=$2 dir=$LAB_DIR/src/$1-$2
  shift 2
  if [ "$(pin "$name" "$1")" = "$at" ]; then
    echo "$lab/$name"
    exit
  fi
  if [ ! -e "$dir/.done" ]; then
    rm -rf "$dir"
    mkdir -p "$dir"
    cp "$lab/$name"/*.go "$dir/"
    go_mod "$name" "$at" "$@" >"$dir/go.mod"
    (cd "$dir" && progress "resolving $name $at" go mod tidy)
    touch "$dir/.done"
  fi
  echo "$dir"
)
go_mod() {
  local name=$1 at=$2 required own part
  shift 2
  own=$(go mod download -json "$1@$at" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  printf 'module nodeinit-lab/%s\n\n' "$name"
  sed -n '/^go /p; /^godebug /p' "$own"
  for required in "$@"; do printf '\nrequire %s %s\n' "$required" "$at"; done
  # Kubernetes names its parts by relative paths, which hold in its own tree only; elsewhere each part needs its version.
  if [ "$name" = kubernetes ]; then
    printf '\nreplace (\n'
    for part in $(sed -nE 's#^\s*(k8s.io/[a-z-]+) => \./staging/src/.*#\1#p' "$own"); do
      printf '\t%s => %s %s\n' "$part" "$part" "$(newest "$part" "v0.${at#v1.}")"
    done
    printf ')\n'
  fi
}

newest() ( # MODULE VERSION: that version, or the newest patch version before it that the Go proxy has
  at=$2
  until (cd / && go mod download "$1@$at" 2>/dev/null); do
    patch=${at##*.}
    [ "$patch" -gt 0 ] || die "the Go proxy has no $1 ${at%.*}"
    at=${at%.*}.$((patch - 1))
  done
  echo "$at"
)

mkdir -p "$bin"
minor=${version#v1.}
v=k8s.io/component-base/version
kubernetes=$(module kubernetes "$version" k8s.io/kubernetes)
part kubernetes "$version" 0 "$kubernetes" \
  "-X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*} -X $v.gitTreeState=clean -X $v.gitCommit=unknown" \
  k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kube-proxy,kubelet,kubeadm,kubectl}
# Its kubeadm knows what belongs to it: etcd's image is TAG-0 of etcd TAG.
images=$("$bin/kubeadm" config images list --kubernetes-version "$version")
etcd=$(sed -nE 's#.*/etcd:v?([0-9.]+).*#v\1#p' <<<"$images")
coredns=$(sed -nE 's#.*/coredns:(v[0-9.]+).*#\1#p' <<<"$images")
part etcd "$etcd" 0 "$(module etcd "$etcd" go.etcd.io/etcd/{server,etcdctl,etcdutl}/v3)" "" go.etcd.io/etcd/{server,etcdctl,etcdutl}/v3
part coredns "$coredns" 0 "$(module coredns "$coredns" github.com/coredns/coredns)" "" .
part pause 2 0 "$lab/pause" "" .
plugins=github.com/containernetworking/plugins
part cni "$(pin cni $plugins)" 0 "$lab/cni" "" $plugins/plugins/{ipam/host-local,main/bridge,main/loopback,meta/portmap}
flannel=$(pin cni github.com/flannel-io/flannel)
part flannel "$flannel" 1 "$lab/cni" \
  "-X github.com/flannel-io/flannel/pkg/version.Version=$flannel -extldflags -static" github.com/flannel-io/flannel
echo "$key" >"$bin/.done"
echo "$bin"
