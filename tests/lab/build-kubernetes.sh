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
command -v go >/dev/null || die "Go 1.25 or newer is needed to build Kubernetes (or LAB_BIN=FOLDER with ready-made programs): see https://go.dev/doc/install"
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

# Kubernetes names its parts by relative paths, which hold in its own tree only; elsewhere each part needs its version.
module=$lab/kubernetes
if [ "$version" != "$pinned_version" ]; then
  module=$LAB_DIR/src/kubernetes-$version
  mkdir -p "$module"
  cp "$lab/kubernetes/tools.go" "$module/"
  own=$(go mod download -json "k8s.io/kubernetes@$version" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
  {
    printf 'module nodeinit-lab/kubernetes\n\n'
    sed -n '/^go /p; /^godebug /p' "$own"
    printf '\nrequire k8s.io/kubernetes %s\n\nreplace (\n' "$version"
    sed -nE "s#^\s*(k8s.io/[a-z-]+) => \./staging/src/.*#\t\1 => \1 v0.${version#v1.}#p" "$own"
    printf ')\n'
  } >"$module/go.mod"
  (cd "$module" && progress "resolving Kubernetes $version" go mod tidy)
fi

mkdir -p "$bin"
minor=${version#v1.}
v=k8s.io/component-base/version
part kubernetes "$version" 0 "$module" \
  "-X $v.gitVersion=$version -X $v.gitMajor=1 -X $v.gitMinor=${minor%%.*} -X $v.gitTreeState=clean -X $v.gitCommit=unknown" \
  k8s.io/kubernetes/cmd/{kube-apiserver,kube-controller-manager,kube-scheduler,kube-proxy,kubelet,kubeadm,kubectl}
part etcd "$(pin etcd go.etcd.io/etcd/server/v3)" 0 "$lab/etcd" "" go.etcd.io/etcd/{server,etcdctl,etcdutl}/v3
part coredns "$(pin coredns github.com/coredns/coredns)" 0 "$lab/coredns" "" .
part pause 2 0 "$lab/pause" "" .
plugins=github.com/containernetworking/plugins
part cni "$(pin cni $plugins)" 0 "$lab/cni" "" $plugins/plugins/{ipam/host-local,main/bridge,main/loopback,meta/portmap}
flannel=$(pin cni github.com/flannel-io/flannel)
part flannel "$flannel" 1 "$lab/cni" \
  "-X github.com/flannel-io/flannel/pkg/version.Version=$flannel -extldflags -static" github.com/flannel-io/flannel
echo "$key" >"$bin/.done"
echo "$bin"
