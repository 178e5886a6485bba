#!/usr/bin/env bash
# Makes the packages of both programs in target/packages: build.sh amd64|arm64
# The same sources, tools and SOURCE_DATE_EPOCH give the same bytes. SOURCE_DATE_EPOCH defaults to the time of the last commit.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=../tests/lab/lib.sh
. tests/lab/lib.sh
umask 022
export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
export SOURCE_DATE_EPOCH
[ ! -d .git ] || [ -z "$(git status --porcelain)" ] ||
  echo "build.sh: the work tree has changes: nobody can reproduce these packages from a commit" >&2
maintainer=${PACKAGE_MAINTAINER:-nodeinit maintainers <maintainers@nodeinit.invalid>}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml)
revision=1

arch=${1:?amd64 or arm64}
case $arch in
amd64) machine=x86_64 ;;
arm64) machine=aarch64 ;;
*) die "no packages are built for $arch: use amd64 or arm64" ;;
esac
export TARGET=$machine-unknown-linux-gnu
if [ "$machine" != "$(uname -m)" ]; then
  [ -d "$(rustc --print sysroot)/lib/rustlib/$TARGET" ] ||
    die "Rust's standard library for $TARGET is missing: run \`rustup target add $TARGET\`"
  need "$machine-linux-gnu-gcc=gcc-$machine-linux-gnu"
  [ -e "/usr/$machine-linux-gnu/include/stdlib.h" ] || progress "installing libc6-dev-$arch-cross" install_packages "libc6-dev-$arch-cross"
fi
need dpkg-deb=dpkg rpmbuild=rpm

build=${CARGO_TARGET_DIR:-target}
out=$(realpath -m "$build/packages")
programs=$build/$TARGET/release
stage=$(mktemp -d)
trap 'rm -rf "$stage"' EXIT

about() { # PROGRAM: sets the description, and what the program needs on a machine, by the names of Debian and of Red Hat
  case $1 in
  nodeinit)
    summary="turns a bare machine into a Kubernetes master or worker"
    description="nodeinit brings a Linux machine to the state that its configuration
describes: it prepares the system, installs containerd, the kubelet and the
images, generates certificates, and starts etcd and the control plane. Over
SSH it brings up the other machines of the cluster. An interrupted run
resumes, a second run changes nothing, and a reset undoes everything."
    deb_needs="Recommends: ca-certificates, iproute2, iptables, kmod, nftables"
    rpm_needs="Recommends: ca-certificates, (iproute or iproute2), (iptables-nft or iptables), kmod, nftables
OrderWithRequires(post): systemd"
    ;;
  provisioner)
    summary="creates the OpenStack resources of a Kubernetes cluster"
    description="provisioner compares the servers, volumes, networks, security groups and
load balancer of a cluster in an OpenStack project with their description,
shows the difference and applies it. Then it brings up the cluster on the
servers with nodeinit."
    deb_needs="Recommends: ca-certificates
Suggests: nodeinit"
    rpm_needs="Recommends: ca-certificates"
    ;;
  esac
}

files() { # PROGRAM ROOT ZSH: the files of a package, with the folder of zsh's completions
  local program=$1 root=$2 doc=$2/usr/share/doc/$1
  install -D "$programs/$program" "$root/usr/bin/$program"
  install -Dm 644 "packaging/completions/$program.bash" "$root/usr/share/bash-completion/completions/$program"
  install -Dm 644 "packaging/completions/$program.fish" "$root/usr/share/fish/vendor_completions.d/$program.fish"
  install -Dm 644 "packaging/completions/$program.zsh" "$root/usr/share/zsh/$3/_$program"
  install -Dm 644 -t "$root/usr/share/man/man1" packaging/man/"$program"*.1
  install -Dm 644 -t "$doc/examples" "docs/examples/$(example "$program")" docs/examples/nodeinit.schema.json
  install -Dm 644 CHANGELOG.md "$doc/changelog"
  install -m 644 "$stage/$program/THIRD-PARTY-LICENSES" "$doc"
  pages "$doc"
  if [ "$program" = nodeinit ]; then
    install -Dm 644 -t "$root/usr/lib/systemd/system" systemd/nodeinit.service
    install -Dm 644 -t "$doc/examples/nodeinit.service.d" systemd/nodeinit.service.d/*
  fi
  gzip -9n "$root"/usr/share/man/man1/* "$doc/changelog" "$doc/THIRD-PARTY-LICENSES"
}
pages() { # DIRECTORY: the pages that the help texts name
  (cd docs && find . -name '*.md' -exec install -Dm 644 '{}' "$1/docs/{}" ';' -o -name '*.svg' -exec install -Dm 644 '{}' "$1/docs/{}" ';')
}
example() { [ "$1" = nodeinit ] && echo cluster.yaml || echo openstack.yaml; }

deb() { # PROGRAM
  local program=$1 root=$stage/$1/deb doc=$stage/$1/deb/usr/share/doc/$1
  files "$program" "$root" vendor-completions
  sed "s/@PROGRAM@/$program/" packaging/deb/copyright >"$doc/copyright"
  printf '%s (%s-%s) unstable; urgency=medium\n\n  * Release %s: see changelog.gz.\n\n -- %s  %s\n' "$program" "$version" "$revision" \
    "$version" "$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" | gzip -9n >"$doc/changelog.Debian.gz"
  mkdir -p "$root/DEBIAN" "$root/usr/share/lintian/overrides"
  sed "s/@PROGRAM@/$program/g" packaging/deb/lintian-overrides >"$root/usr/share/lintian/overrides/$program"
  [ "$program" = provisioner ] || install -t "$root/DEBIAN" packaging/deb/{postinst,prerm,postrm}
  (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
  cat >"$root/DEBIAN/control" <<END
Package: $program
Version: $version-$revision
Architecture: $arch
Maintainer: $maintainer
Installed-Size: $(($(find "$root/usr" -type f -printf '%s\n' | awk '{n += $1} END {print n}') / 1024))
$deb_needs
Section: admin
Priority: optional
Description: $summary
 ${description//$'\n'/$'\n' }
END
  normalize "$root"
  dpkg-deb --root-owner-group -Zxz -z9 --threads-max=1 --build "$root" "$out/${program}_$version-${revision}_$arch.deb" >/dev/null
}

rpm() { # PROGRAM
  local program=$1 root=$stage/$1/rpm
  files "$program" "$root" site-functions
  install -Dm 644 -t "$root/usr/share/licenses/$program" LICENSE
  [ "$program" = provisioner ] || install -Dm 644 -t "$root/usr/lib/systemd/system-preset" packaging/rpm/80-nodeinit.preset
  normalize "$root"
  {
    cat <<END
Name: $program
Version: $version
Release: $revision
Summary: ${summary^}
License: Apache-2.0
$rpm_needs
AutoReqProv: no
%description
$description
%install
cp -a $root/. %{buildroot}
%files
$(cd "$root" && find usr -path "*/$program*" -type d -printf '%%dir "/%p"\n' | sort)
$(cd "$root" && find usr -type f -printf '"/%p"\n' | sort | sed -E 's|^"/usr/share/(doc\|man)|%\1 &|; s|^%man |%doc |')
END
    [ "$program" = provisioner ] || cat packaging/rpm/scripts
  } >"$stage/$program.spec"
  # Debian's rpmbuild would also strip, compress and check the files.
  rpmbuild -bb --quiet --target "$machine-linux" --buildroot "$stage/buildroot" \
    --define "_topdir $stage/rpmbuild" --define "_rpmdir $out" --define '_rpmfilename %{NAME}-%{VERSION}-%{RELEASE}.%{ARCH}.rpm' \
    --define "_dbpath $stage/rpmdb" --define 'debug_package %{nil}' --define '__os_install_post %{nil}' --define '_build_id_links none' \
    --define '_buildhost localhost' --define 'use_source_date_epoch_as_buildtime 1' --define 'clamp_mtime_to_source_date_epoch 1' \
    --define 'source_date_epoch_from_changelog 0' --define '_binary_payload w9.xzdio' --define '_source_payload w9.xzdio' \
    --define 'optflags -' \
    "$stage/$program.spec"
}

tarball() { # PROGRAM
  local program=$1 name=$1-$version-linux-$arch
  local root=$stage/$program/tar/$name
  install -D "$programs/$program" "$root/$program"
  install -Dm 644 -t "$root/completions" packaging/completions/"$program".*
  install -Dm 644 -t "$root/man" packaging/man/"$program"*.1
  install -Dm 644 -t "$root/examples" "docs/examples/$(example "$program")" docs/examples/nodeinit.schema.json
  install -m 644 LICENSE CHANGELOG.md "$stage/$program/THIRD-PARTY-LICENSES" "$root"
  pages "$root"
  if [ "$program" = nodeinit ]; then
    install -m 644 systemd/nodeinit.service "$root"
    install -Dm 644 -t "$root/examples/nodeinit.service.d" systemd/nodeinit.service.d/*
  fi
  tar --create --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --format=gnu -C "$stage/$program/tar" "$name" |
    gzip -9n >"$out/$name.tar.gz"
}

normalize() { find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

packaging/release.sh nodeinit provisioner
mkdir -p "$out"
rm -f "$out"/*"$arch"* "$out"/*"$machine"*
for program in nodeinit provisioner; do
  about "$program"
  mkdir "$stage/$program"
  packaging/inventory.py "$program" "$TARGET" "$stage/$program"
  deb "$program"
  rpm "$program"
  tarball "$program"
  cp "$stage/$program/$program.cdx.json" "$out/$program-$version-linux-$arch.cdx.json"
  cp "$stage/$program/THIRD-PARTY-LICENSES" "$out/$program-$version-linux-$arch.THIRD-PARTY-LICENSES"
done
cp packaging/install.sh "$out"
(cd "$out" && rm -f SHA256SUMS* && sha256sum -- * >SHA256SUMS && cat SHA256SUMS)
