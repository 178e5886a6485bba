#!/usr/bin/env bash
# Sees to it that the build's tools are there: installs Debian's with apt, and says where the others come from.
set -euo pipefail
# shellcheck source=lab/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lab/lib.sh"
command -v cargo >/dev/null || die "Rust 1.95 or newer is needed: see https://rustup.rs"
need cc=gcc xz=xz-utils python3=python3
# The SSH client is tested against the real server.
need /usr/sbin/sshd=openssh-server ssh-keygen=openssh-client
[ -e /usr/include/stdlib.h ] || progress "installing libc6-dev" install_packages libc6-dev
# etcd-client's messages are made of etcd's own descriptions, which lean on protobuf's.
need protoc=protobuf-compiler
[ -e /usr/include/google/protobuf/descriptor.proto ] || progress "installing libprotobuf-dev" install_packages libprotobuf-dev
