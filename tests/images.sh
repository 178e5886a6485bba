#!/usr/bin/env bash
# Checks the snippets for user-data and Ignition: each contains the current unit and no secret; cloud-init and butane accept them, where
# they are installed (cloud-init also in the root of the lab's hosts).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=lab/lib.sh
. tests/lab/lib.sh
fail() { die "images: $*"; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# fetch.yaml contains the unit without its comments, as the provisioner's user-data does.
grep -v '^#' systemd/nodeinit.service >"$work/unit"
sed -n '/ path: .*nodeinit.service$/,/^runcmd/{s/^    //p; /^$/p}' packaging/cloud-init/fetch.yaml | cmp -s - "$work/unit" ||
  fail "packaging/cloud-init/fetch.yaml contains another nodeinit.service than systemd/"
for file in packaging/cloud-init/*.yaml packaging/ignition/*; do
  ! grep -E 'PRIVATE KEY|bootstrapToken|password:' "$file" || fail "$file contains a secret"
  [ "$(wc -c <"$file")" -le 16384 ] || fail "$file is longer than the user-data that every cloud accepts"
done
echo "ok: the snippets contain the current unit, and no secret"

schema=(cloud-init schema)
if ! command -v cloud-init >/dev/null; then
  root=$(root_dir)
  # In a copy of its files: cloud-init may write a log.
  schema=()
  if [ -e "$root.done" ] && [ "$(id -u)" = 0 ]; then
    mkdir "$work/upper" "$work/work" "$work/merged"
    # shellcheck disable=SC2016
    schema=(unshare --mount sh -ec 'mount -t tmpfs tmpfs "$0"; mkdir "$0/upper" "$0/work" "$0/root"
      mount -t overlay overlay -o "lowerdir=$1,upperdir=$0/upper,workdir=$0/work" "$0/root"; cp "$3" "$0/root/root/snippet"
      exec chroot "$0/root" cloud-init schema "$2" /root/snippet' "$work/merged" "$root")
  fi
fi
if [ ${#schema[@]} -gt 0 ]; then
  for file in packaging/cloud-init/*.yaml; do "${schema[@]}" --config-file "$file" >/dev/null || fail "cloud-init rejects $file"; done
  echo "ok: cloud-init accepts the snippets"
else
  echo "skipped the check with cloud-init: it is not installed, and the lab's root does not exist"
fi
if command -v butane >/dev/null; then
  butane --strict --files-dir . packaging/ignition/flatcar.bu | cmp -s - packaging/ignition/flatcar.ign || fail "flatcar.ign is not what butane makes of flatcar.bu"
  echo "ok: flatcar.ign is current"
else
  echo "skipped the check with butane: it is not installed"
fi
