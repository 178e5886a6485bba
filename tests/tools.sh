#!/usr/bin/env bash
# Installs the build tools: Debian's packages with apt; for the others, prints where to get them.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lab/lib.sh"
command -v cargo >/dev/null || die "Rust 1.95 or newer is needed: see https://rustup.rs"
need cc=gcc xz=xz-utils python3=python3
# The SSH client is tested against the real server.
need /usr/sbin/sshd=openssh-server ssh-keygen=openssh-client
[ -e /usr/include/stdlib.h ] || progress "installing libc6-dev" install_packages libc6-dev
# etcd-client generates its messages from etcd's descriptions, which import those of protobuf.
need protoc=protobuf-compiler
[ -e /usr/include/google/protobuf/descriptor.proto ] || progress "installing libprotobuf-dev" install_packages libprotobuf-dev
