#!/usr/bin/env bash
# Builds containerd with its shim and ctr, and runc, for tests on hosts that lack them; each once per version.
# Hosts see them as /opt/lab/bin/runtime/NAME.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
bin=$(bin_dir)/runtime
# nodeinit/config/src/upstream.rs names the same versions.
containerd=v2.4.2
runc=v1.5.2
export GOFLAGS="-trimpath -buildvcs=false -mod=readonly"

# part NAME MODULE VERSION LDFLAGS TAGS PACKAGE...: in the module's own directory, with the dependencies that it pins
part() {
  local module=$2 out=$LAB_DIR/part/$1@$3 flags="-s -w -extldflags -static $4" tags=$5 source
  if [ ! -e "$out" ]; then
    source=$(cd / && go mod download -json "$module@$3" | sed -n 's/.*"Dir": "\(.*\)".*/\1/p')
    rm -rf "$out.new"
    mkdir -p "$out.new"
    (cd "$source" && progress "building $1 $3" go build -tags "$tags" -ldflags "$flags" -o "$out.new/" "${@:6}")
    mv "$out.new" "$out"
  fi
  cp -lf "$out"/* "$bin/"
}

only_one containerd
command -v go >/dev/null || die "Go 1.26 or newer is needed to build containerd: see https://go.dev/doc/install"
need gcc=gcc pkg-config=pkg-config
[ -e /usr/include/seccomp.h ] || progress "installing libseccomp-dev" install_packages libc6-dev libseccomp-dev
mkdir -p "$bin"
v=github.com/containerd/containerd/v2
CGO_ENABLED=0 part containerd $v "$containerd" "-X $v/version.Version=$containerd" "no_btrfs no_zfs no_devmapper" \
  ./cmd/containerd ./cmd/containerd-shim-runc-v2 ./cmd/ctr
CGO_ENABLED=1 part runc github.com/opencontainers/runc "$runc" "-X main.version=${runc#v}" "seccomp netgo osusergo" .
echo "$bin"
