#!/usr/bin/env bash
# Makes a root that packaging/image/build.sh has baked from the lab's Debian and a bundle of the lab's artifacts: baked.sh NODEINIT
# Prints where. Hosts start from it with LAB_ROOT.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
nodeinit=$(realpath "${1:?NODEINIT}")
{ read -r bin; read -r images; read -r root; } < <("$lab/prepare.sh")
packaging=$(cd "$lab/../../packaging" && pwd)
release=$(release_dir)
only_one baked
key=$({ echo "$root"; cat "$release/images.done" "$nodeinit" "${BASH_SOURCE[0]}"; find "$packaging/image" "$packaging/../systemd" -type f -print0 | sort -z | xargs -0 cat; } |
  sha256sum | cut -c1-12)
baked=$release/baked-$key
[ ! -e "$baked.done" ] || { echo "$baked"; exit 0; }

make_baked() {
  local old work
  for old in "$release"/baked-*; do # not one from which a host has started
    grep -qsxF "${old%.done}" "$LAB_DIR"/hosts/*/shared || rm -rf --one-file-system "$old"
  done
  cp -a "$root" "$baked"
  rm -r "$baked/etc/containerd" # build.sh writes it
  work=$(mktemp -d "$release/bundle.XXXXXX")
  # shellcheck disable=SC2064
  trap "rm -rf '$work'" EXIT
  ln -s "$bin" "$work/bin"
  ln -s "$images" "$work/images"
  {
    printf 'containerRuntime: {manage: false}\nartifacts:\n  sha256:\n'
    sed -n 's/.*{path: \([^,]*\),.*/\1/p' "$release/cluster.yaml" | (cd "$work" && xargs sha256sum) | awk '{print "    " $2 ": " $1}'
  } >"$work/digests.yaml"
  "$nodeinit" artifacts bundle --config "$release/cluster.yaml" --config "$work/digests.yaml" --from "$work" --output "$work/kubernetes.tar"
  "$packaging/image/build.sh" --strict --console "$baked" "$nodeinit" "$work/kubernetes.tar"
}
progress "baking an image" make_baked
touch "$baked.done"
echo "$baked"
