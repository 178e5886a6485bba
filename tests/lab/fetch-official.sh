#!/usr/bin/env bash
# Fetches the official programs and images with `nodeinit artifacts fetch`, once per version, in the place of the lab's own build:
# fetch-official.sh ROOT. LAB_NODEINIT is the nodeinit that fetches; LAB_FETCH_CONFIG may name a configuration file with mirrors.
set -euo pipefail
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
root=${1:?ROOT}
release=$(release_dir)
key=$(cat "${BASH_SOURCE[0]}" "$lab/cluster.yaml" | sha256sum)
is_there() { [ "$(cat "$release/fetched" 2>/dev/null)" = "$key" ]; }
! is_there || exit 0
only_one official
! is_there || exit 0
[ -n "${LAB_NODEINIT:-}" ] || die "LAB_NODEINIT does not name the nodeinit that fetches: make demo ARTIFACTS=official"

# The image for pods of tests, as images.py makes it.
pack_tools='
import sys
sys.path.insert(0, sys.argv[4])
import images
programs = ["/bin/dash", "/bin/sleep", "/usr/bin/curl", "/usr/bin/socat", "/usr/bin/getent", "/usr/bin/env", "/lib/x86_64-linux-gnu/libnss_dns.so.2"]
images.write_image("localhost/tools:lab", images.from_root(*programs), {"/bin/sh": "dash"}, ["/bin/sh"])'

mkdir -p "$release/images"
# The programs of cluster.yaml, and the images that this version needs.
{
  sed "s/^  version: .*/  version: $version/; /^  images:/,\$d" "$lab/cluster.yaml"
  # The hosts have Debian's.
  echo 'containerRuntime: {manage: false}'
} >"$release/fetch.yaml"
config=(--config "$release/fetch.yaml" ${LAB_FETCH_CONFIG:+--config "$LAB_FETCH_CONFIG"})
echo "lab: fetching the official Kubernetes $version" >&2
"$LAB_NODEINIT" artifacts fetch "${config[@]}" --to "$release" >&2
python3 -c "$pack_tools" - "$root" "$release/images" "$lab" >/dev/null
{
  "$LAB_NODEINIT" artifacts list "${config[@]}" --output json | python3 -c '
import json, sys
for artifact in map(json.loads, sys.stdin):
    if artifact["kind"] == "image":
        print(artifact["path"].removeprefix("images/"), artifact["source"])'
  echo tools.tar localhost/tools:lab
} >"$release/images/names"
echo "$key" >"$release/fetched"
