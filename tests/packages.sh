#!/usr/bin/env bash
# Tests the packages that `make packages` wrote: packages.sh DIRECTORY
# A second build in another directory has the same bytes; the .deb works on a host of the lab, from installation to removal; the .rpm
# unpacks to the same program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=lab/lib.sh
. tests/lab/lib.sh
packages=$(realpath "$1")
host=tests/lab/host.sh name=pkg
work=$(mktemp -d)
trap '"$host" down $name 2>/dev/null || true; rm -rf "$work"' EXIT
ok() { echo "ok: $*"; }
fail() { die "packages: $*"; }

(cd "$packages" && sha256sum --quiet --check SHA256SUMS) || fail "SHA256SUMS does not match the files"
[ "$(cd "$packages" && ls)" = "$( (awk '{print $2}' "$packages/SHA256SUMS"; echo SHA256SUMS) | sort)" ] || fail "SHA256SUMS does not list every file"
ok "SHA256SUMS lists every file"

for program in nodeinit provisioner; do
  contents=$(dpkg-deb -c "$packages/$program"_*_amd64.deb)
  for file in "bin/$program" "share/man/man1/$program.1.gz" "share/bash-completion/completions/$program" "share/zsh/vendor-completions/_$program" \
    "share/fish/vendor_completions.d/$program.fish" "share/doc/$program/THIRD-PARTY-LICENSES.gz" "share/doc/$program/copyright"; do
    grep -q " root/root .* \./usr/$file$" <<<"$contents" || fail "$program's .deb has no /usr/$file of root"
  done
  dpkg-deb -I "$packages/$program"_*_amd64.deb | grep -q "^ Package: $program$" || fail "$program's .deb has another name"
  rpm -qp --qf '%{NAME}\n' "$packages/$program"-*.x86_64.rpm | grep -qx "$program" || fail "$program's .rpm has another name"
  mkdir -p "$work/$program/deb" "$work/$program/rpm"
  dpkg-deb -x "$packages/$program"_*_amd64.deb "$work/$program/deb"
  rpm2archive - <"$(echo "$packages/$program"-*.x86_64.rpm)" | tar -xz -C "$work/$program/rpm"
  tar -xzf "$packages/$program"-*-linux-amd64.tar.gz -C "$work/$program"
  for other in "$work/$program/rpm/usr/bin/$program" "$work/$program/$program"-*"/$program"; do
    cmp "$work/$program/deb/usr/bin/$program" "$other" || fail "the packages have different programs"
  done
  tests/empty-chroot.sh "$work/$program/deb/usr/bin/$program"
  python3 -c 'import json, sys; bill = json.load(open(sys.argv[1])); assert bill["bomFormat"] == "CycloneDX" and len(bill["components"]) > 100' \
    "$packages/$program"-*.cdx.json || fail "$program's SBOM lists too little"
done
ok "the packages have their files, and the same programs"

if command -v lintian >/dev/null; then
  lintian --no-cfg --allow-root --fail-on error,warning "$packages"/*_amd64.deb || fail "lintian has findings"
  ok "lintian has no errors and no warnings"
else
  echo "skipped lintian: it is not installed"
fi

tests/lab/prepare.sh >/dev/null
"$host" down $name
LAB_OWNER=$$ "$host" up $name 10.77.0.240
on() { "$host" ssh $name "$@"; }
"$host" copy $name "$packages"/nodeinit_*_amd64.deb /root/nodeinit.deb
on dpkg --install /root/nodeinit.deb >/dev/null
version=$(on nodeinit version | head -n 1)
[ "$version" = "nodeinit $(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)" ] || fail "the host runs $version"
on 'test -e /usr/share/man/man1/nodeinit.1.gz && systemctl cat nodeinit >/dev/null && systemd-analyze verify nodeinit.service'
[ "$(on 'systemctl is-enabled nodeinit || true')" = disabled ] || fail "the service is enabled on a host without a configuration"
ok "the .deb works on a host, and enables nothing: $version"
on 'systemctl enable -q nodeinit && dpkg --install /root/nodeinit.deb >/dev/null'
[ "$(on systemctl is-enabled nodeinit)" = enabled ] || fail "a reinstallation disabled the service"
on 'systemctl disable -q nodeinit && dpkg --install /root/nodeinit.deb >/dev/null'
[ "$(on 'systemctl is-enabled nodeinit || true')" = disabled ] || fail "a reinstallation enabled the service"
ok "a reinstallation keeps the service enabled, or disabled"
purged() {
  local left
  on dpkg --purge nodeinit >/dev/null
  left=$(on 'find / -xdev -name "*nodeinit*" -not -path "/root/*" -not -path "/opt/*"') || fail "cannot search the host"
  [ -z "$left" ] || fail "a purge leaves $left"
}
purged
on 'dpkg --install /root/nodeinit.deb >/dev/null && systemctl enable -q nodeinit'
purged
ok "a purge leaves nothing, also if the service was enabled"
# A master of a running cluster; a drop-in makes its agent a sleeping process.
on 'mkdir -p /etc/nodeinit /var/lib/nodeinit /etc/systemd/system/nodeinit-agent.service.d
  touch /etc/nodeinit/config.yaml && echo {} >/var/lib/nodeinit/journal.jsonl
  printf "[Service]\nExecStart=/usr/bin/nodeinit agent\n" >/etc/systemd/system/nodeinit-agent.service
  printf "[Service]\nExecStart=\nExecStart=/bin/sleep infinity\n" >/etc/systemd/system/nodeinit-agent.service.d/test.conf
  systemctl daemon-reload && systemctl restart nodeinit-agent'
before=$(on systemctl show -P MainPID nodeinit-agent)
on 'dpkg --install /root/nodeinit.deb >/dev/null'
[ "$(on 'systemctl is-enabled nodeinit || true')" = disabled ] || fail "the service is enabled on a machine that nodeinit set up without it"
[ "$(on systemctl show -P MainPID nodeinit-agent)" != "$before" ] || fail "the agent runs the former program"
said=$(on 'dpkg --remove nodeinit 2>&1')
grep -q 'runs /usr/bin/nodeinit and fails at its next start' <<<"$said" || fail "a removal does not warn about the agent: $said"
on 'systemctl stop nodeinit-agent; rm -r /etc/systemd/system/nodeinit-agent.service* /etc/nodeinit /var/lib/nodeinit
  systemctl daemon-reload; dpkg --purge nodeinit >/dev/null'
ok "on a machine that nodeinit set up, the service stays disabled and the agent is restarted"
on 'mkdir -p /etc/nodeinit/conf.d && touch /etc/nodeinit/conf.d/cluster.yaml && dpkg --install /root/nodeinit.deb >/dev/null'
[ "$(on 'systemctl is-enabled nodeinit; systemctl is-active nodeinit || true')" = $'enabled\ninactive' ] ||
  fail "with a configuration, the service is not enabled, or it was started"
on 'dpkg --purge nodeinit >/dev/null && test -e /etc/nodeinit/conf.d/cluster.yaml'
TMPDIR=$work BIN_DIR=$work/bin sh packaging/install.sh "file://$packages" "$(sed -n 's/  nodeinit-.*-linux-amd64.tar.gz$//p' "$packages/SHA256SUMS")" >/dev/null
cmp "$work/bin/nodeinit" "$work/nodeinit/deb/usr/bin/nodeinit" || fail "install.sh installs another program"
ok "with a configuration, the service is enabled and not started; a purge keeps the configuration"
"$host" down $name

# The directory, the time, and the caller's time zone, umask and locale differ; the tools and the host are the same.
again=$work/another/directory
mkdir -p "$again"
git ls-files -z | tar --create --null --files-from=- | tar --extract --touch -C "$again"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
(cd "$again" && umask 077 &&
  progress "building the packages again" env -u CARGO_TARGET_DIR TZ=Pacific/Auckland LC_ALL=C.UTF-8 packaging/build.sh amd64)
different=$(diff -rq "$packages" "$again/target/packages") || fail "two builds differ: $different"
ok "a second build in another directory has the same bytes"
