#!/usr/bin/env bash
# Builds programs as they are released, with the same bytes in every directory: release.sh PROGRAM...; TARGET is the target triple.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
triple=${TARGET:-x86_64-unknown-linux-gnu}
# RUSTFLAGS would replace the flags of .cargo/config.toml. SOURCE_DATE_EPOCH does not change a program, but makes cargo compile ring again after each
# commit. The others change how programs are compiled.
unset RUSTFLAGS CARGO_ENCODED_RUSTFLAGS SOURCE_DATE_EPOCH CC CFLAGS "${!CARGO_PROFILE_@}" "${!CARGO_BUILD_@}"
cargo fetch --locked --quiet --target "$triple"
# Panic messages and generated code contain paths. Of several that match, the last one counts.
flags="'--remap-path-prefix=$(pwd -P)=.', '--remap-path-prefix=$(realpath -m "${CARGO_TARGET_DIR:-target}")=target'"
for crates in "${CARGO_HOME:-$HOME/.cargo}"/registry/src/*/; do
  flags+=", '--remap-path-prefix=$(realpath "$crates")=crates'"
done
# One after the other: built together, each would get the features that the other one needs.
for program in "$@"; do
  cargo build --release --locked --target "$triple" --config "target.$triple.rustflags = [$flags]" -p "$program"
done
