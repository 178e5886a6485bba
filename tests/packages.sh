#!/usr/bin/env bash
# Tests the packages that `make packages` wrote: packages.sh DIRECTORY
# The .deb and the .rpm work on a host of the lab, from installation to removal; a host with a package and a configuration joins a cluster at its
# next boot; a second build in another directory has the same bytes.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=lab/lib.sh
. tests/lab/lib.sh
packages=$(realpath "$1")
host=tests/lab/host.sh name=pkg hosts=(pkg pkg-m pkg-deb pkg-rpm)
work=$(mktemp -d)
trap '"$host" down "${hosts[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
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
  for page in $(sed -n 's|\\||g; s|^More: \(docs/.*\)|\1|p' packaging/man/"$program"*.1 | sort -u); do
    grep -q " \./usr/share/doc/$program/$page$" <<<"$contents" || fail "$program's .deb has no $page"
  done
  [ "$(dpkg-deb -f "$packages/$program"_*_amd64.deb Package)" = "$program" ] || fail "$program's .deb has another name"
  [ "$(rpm -qp --qf '%{NAME}' "$packages/$program"-*.x86_64.rpm)" = "$program" ] || fail "$program's .rpm has another name"
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

need lintian=lintian
lintian --no-cfg --allow-root --fail-on error,warning "$packages"/*_amd64.deb || fail "lintian has findings"
ok "lintian has no errors and no warnings"

TMPDIR=$work BIN_DIR=$work/bin sh packaging/install.sh "file://$packages" "$(sed -n 's/  nodeinit-.*-linux-amd64.tar.gz$//p' "$packages/SHA256SUMS")" >/dev/null
cmp "$work/bin/nodeinit" "$work/nodeinit/deb/usr/bin/nodeinit" || fail "install.sh installs another program"
ok "install.sh installs the same program"

root=$(tests/lab/prepare.sh | tail -n 1)
# The hosts are Debian: there, Debian's rpm runs the scripts of the .rpm, and a preset makes systemd enable no unit by default, as on Red Hat.
mkdir -p "$work/rpm/partial"
progress "downloading rpm for the hosts" install_packages --download-only -o Dir::State::Status="$root/var/lib/dpkg/status" \
  -o Dir::Cache::Archives="$work/rpm" rpm
declare -A install=(
  [deb]="dpkg --install /root/nodeinit.deb >/dev/null"
  [rpm]="rpm --upgrade --replacepkgs --force-debian --nodeps /root/nodeinit.rpm"
) remove=(
  [deb]="dpkg --remove nodeinit"
  [rpm]="rpm --erase --force-debian nodeinit"
) purge=(
  [deb]="dpkg --purge nodeinit >/dev/null"
  [rpm]="! rpm --query --quiet nodeinit || rpm --erase --force-debian nodeinit"
)
fresh() { # deb|rpm NAME ADDRESS: a new host that can install this package of nodeinit
  "$host" down "$2"
  LAB_OWNER=$$ "$host" up "$2" "$3"
  case $1 in
  deb) "$host" copy "$2" "$packages"/nodeinit_*_amd64.deb /root/nodeinit.deb ;;
  rpm)
    "$host" copy "$2" "$packages"/nodeinit-*.x86_64.rpm /root/nodeinit.rpm
    "$host" copy "$2" "$work"/rpm/*.deb /tmp
    "$host" ssh "$2" 'dpkg --install /tmp/*.deb >/dev/null && mkdir -p /etc/systemd/system-preset &&
      echo "disable *" >/etc/systemd/system-preset/99-default-disable.preset'
    ;;
  esac
}

on() { "$host" ssh $name "$@"; }
is() { # ENABLED WHEN
  [ "$(on 'systemctl is-enabled nodeinit; systemctl is-active nodeinit || true')" = "$1"$'\ninactive' ] || fail "the service is not $1, or not inactive, $2"
}
purged() { # KIND
  local left
  on "${purge[$1]}"
  left=$(on 'find / -xdev -name "*nodeinit*" -not -path "/root/*" -not -path "/opt/*"') || fail "cannot search the host"
  [ -z "$left" ] || fail "a purge of the .$1 leaves $left"
}
from_installation_to_removal() { # KIND
  local version before said
  fresh "$1" $name 10.77.0.240
  on "${install[$1]}"
  version=$(on nodeinit version | head -n 1)
  [ "$version" = "nodeinit $(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)" ] || fail "the host runs $version"
  on 'test -e /usr/share/man/man1/nodeinit.1.gz && systemctl cat nodeinit >/dev/null && systemd-analyze verify nodeinit.service'
  is enabled "after the installation of the .$1"
  "$host" stop $name
  "$host" up $name
  [ "$(on systemctl show -P ConditionResult nodeinit)" = no ] || fail "the service did not look for a configuration at boot"
  is enabled "after a boot without a configuration"
  ok "the .$1 works on a host, and enables the service, which does nothing without a configuration: $version"
  on "systemctl disable -q nodeinit && ${install[$1]}"
  is disabled "after a reinstallation of the .$1 while it was disabled"
  on "systemctl enable -q nodeinit && ${install[$1]}"
  is enabled "after a reinstallation of the .$1 while it was enabled"
  ok "a reinstallation of the .$1 keeps the service enabled, or disabled"
  purged "$1"
  on "${install[$1]} && systemctl disable -q nodeinit"
  purged "$1"
  ok "a purge of the .$1 leaves nothing, also if the service was enabled"
  # A master of a running cluster; a drop-in makes its agent a sleeping process.
  on 'mkdir -p /etc/nodeinit /var/lib/nodeinit /etc/systemd/system/nodeinit-agent.service.d
    touch /etc/nodeinit/config.yaml && echo {} >/var/lib/nodeinit/journal.jsonl
    printf "[Service]\nExecStart=/usr/bin/nodeinit agent\n" >/etc/systemd/system/nodeinit-agent.service
    printf "[Service]\nExecStart=\nExecStart=/bin/sleep infinity\n" >/etc/systemd/system/nodeinit-agent.service.d/test.conf
    systemctl daemon-reload && systemctl restart nodeinit-agent'
  before=$(on systemctl show -P MainPID nodeinit-agent)
  said=$(on "touch /usr/local/bin/nodeinit && { ${install[$1]}; } 2>&1 && rm /usr/local/bin/nodeinit")
  grep -q '/usr/local/bin/nodeinit takes precedence' <<<"$said" || fail "the .$1 does not report the program in /usr/local/bin: $said"
  is disabled "on a machine that nodeinit set up without it"
  [ "$(on systemctl show -P MainPID nodeinit-agent)" != "$before" ] || fail "the agent runs the former program"
  said=$(on "${remove[$1]} 2>&1")
  grep -q 'runs /usr/bin/nodeinit and fails at its next start' <<<"$said" || fail "a removal of the .$1 does not warn about the agent: $said"
  on "${purge[$1]}"
  on 'test -e /etc/nodeinit/config.yaml && test -s /var/lib/nodeinit/journal.jsonl' || fail "a purge of the .$1 deletes the configuration or the journal"
  [ "$(on systemctl show -P LoadState nodeinit)" = not-found ] || fail "systemd knows the service after the removal of the .$1"
  ok "on a machine that nodeinit set up, the .$1 leaves the service disabled, restarts the agent, and keeps the configuration"
  "$host" down $name
}
from_installation_to_removal deb
from_installation_to_removal rpm

boots() { # NAME: after a reboot, nodeinit.service, which nobody starts, ends well
  local deadline=$((SECONDS + 600))
  "$host" stop "$1"
  "$host" start "$1"
  until [ "$("$host" ssh "$1" systemctl is-active nodeinit 2>/dev/null)" = active ]; do
    [ $SECONDS -lt $deadline ] || fail "$1 is not ready: $("$host" ssh "$1" journalctl -b -u nodeinit -n 30 --no-pager 2>&1)"
    sleep 1
  done
}
master=pkg-m
fresh deb $master 10.77.0.240
"$host" ssh $master "${install[deb]} && mkdir -p /etc/nodeinit/conf.d"
"$host" copy $master "$(release_dir)/cluster.yaml" /etc/nodeinit/config.yaml
printf 'masters: [{name: %s, address: 10.77.0.240}]\nworkers: [{name: pkg-deb}, {name: pkg-rpm}]\n' $master |
  "$host" ssh $master 'cat >/etc/nodeinit/conf.d/10-machines.yaml'
boots $master
ok "a host with the .deb and a configuration becomes the master at its next boot"
address=240
for kind in deb rpm; do
  fresh $kind pkg-$kind 10.77.0.$((++address))
  "$host" ssh pkg-$kind "${install[$kind]} && mkdir /etc/nodeinit"
  "$host" ssh $master "nodeinit token create --worker pkg-$kind --files /root/pkg-$kind >/dev/null && tar -C /root/pkg-$kind -c ." |
    "$host" ssh pkg-$kind 'tar -C /etc/nodeinit -x'
  boots pkg-$kind
  "$host" ssh $master "kubectl --kubeconfig /etc/kubernetes/admin.conf wait node/pkg-$kind --for=condition=Ready --timeout=60s" >/dev/null
  ok "a host with the .$kind, its configuration and a token joins the cluster at its next boot"
done
"$host" ssh $master kubectl --kubeconfig /etc/kubernetes/admin.conf get nodes
for each in pkg-rpm $master; do
  "$host" ssh $each nodeinit reset --yes
  "$host" stop $each
  "$host" up $each
  "$host" ssh $each '[ "$(systemctl is-enabled nodeinit)" = disabled ] && ! systemctl is-active --quiet nodeinit kubelet &&
    test ! -e /var/lib/nodeinit/journal.jsonl' || fail "$each is not empty at the boot after its reset"
done
ok "after a reset, a host stays empty at its next boot"
"$host" down "${hosts[@]}"

# The directory, the time, and the caller's time zone, umask and locale differ; the tools and the host are the same.
again=$work/another/directory
mkdir -p "$again"
git ls-files -z | tar --create --null --files-from=- | tar --extract --touch -C "$again"
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
(cd "$again" && umask 077 &&
  progress "building the packages again" env -u CARGO_TARGET_DIR TZ=Pacific/Auckland LC_ALL=C.UTF-8 packaging/build.sh amd64)
different=$(diff -rq "$packages" "$again/target/packages") || fail "two builds differ: $different"
ok "a second build in another directory has the same bytes"
