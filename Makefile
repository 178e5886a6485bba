# `make` without a target lists all targets.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build packages check lint lab fuzz test test-hosts test-containerd test-images test-official test-kills test-long test-guest test-releases test-upgrade test-hops test-rollback test-lead test-debian13 test-power test-etcd test-security test-packages test-openstack demo demo-down demo-openstack demo-openstack-down bench bench-bundle bench-join bench-openstack bench-pairs bench-upgrade clean

target := $(or $(CARGO_TARGET_DIR),target)/x86_64-unknown-linux-gnu
binary := $(target)/release/nodeinit
killable := $(target)/debug/nodeinit-failpoints
provisioner := $(target)/debug/provisioner
releases := $(shell sed -n 's/^version: //p' nodeinit/config/releases/*.yaml)

help: ## print this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build the static release binary and print its size
	@tests/tools.sh
	packaging/release.sh nodeinit
	@tests/size.sh $(binary)
	@tests/empty-chroot.sh $(binary)

packages: ## write the .deb and .rpm packages, tarballs, SBOMs and licences of both programs to target/packages; ARCH=arm64 cross-compiles
	@tests/tools.sh
	packaging/build.sh $(or $(ARCH),amd64)

check: lint ## run all checks that need neither root nor the lab: format, lints, unit tests, documents, licences
	cargo test --workspace --locked
	tests/install.sh
	tests/images.sh
	cargo test -p nodeinit-tests --features lab --locked --test lab -- --exact the_tests_fit_into_the_hour

lint: # all of `check` except the tests
	@tests/tools.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features nodeinit-tests/cloud --locked -- -D warnings
	tests/dependencies.py
	tests/prose.py
	tests/links.py
	tests/shellcheck.sh

lab: # builds the parts of the lab, once per version
	tests/lab/prepare.sh
	tests/lab/addons.sh kube-vip etcd-3.6
	tests/openstack/make-root.sh

test: export NODEINIT_FUZZ_SECONDS := 60
test: ## the same, and Kubernetes on hosts of the lab (systemd-nspawn), and a real OpenStack API, without the longer tests (root; under an hour)
	$(MAKE) --jobs=3 build lint lab
	tests/install.sh
	tests/images.sh
	tests/lab/selftest.sh
	$(call host-tests,--workspace --features nodeinit-tests/lab)
	cargo test --locked -p nodeinit --lib -- --ignored
	$(call cloud-tests,at_once refused terminal whole)

fuzz: export NODEINIT_FUZZ_SECONDS := $(or $(SECONDS),3600)
fuzz: ## feed mutated files to the parser and the merger of the configuration for an hour, or SECONDS=N
	cargo test --locked -p nodeinit-config --test fuzz -- --nocapture

test-hosts: build ## run the tests on hosts; NAME=reset selects those whose name contains it (root)
	tests/lab/prepare.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- $(if $(NAME),--include-ignored $(NAME)))

test-kills: export NODEINIT_LAB_KILLS := $(or $(KILLS),200)
test-kills: export NODEINIT_LAB_KILLS_FROM := $(or $(FROM),0)
test-kills: build ## test 200 kills distributed over a bootstrap of three masters and a worker, or KILLS=N; FROM=N continues at number N (root; 3 hours)
	tests/lab/prepare.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --ignored --nocapture many_kills)

# $(1): the tests, as arguments of cargo.
define host-tests
	cargo build --locked -p nodeinit --features failpoints
	cp $(target)/debug/nodeinit $(killable)
	NODEINIT_LAB=$(abspath $(binary)) NODEINIT_LAB_FAILPOINTS=$(abspath $(killable)) cargo test --locked $(1)
endef

test-long: build ## run the longer tests on hosts, except the kills (root; an hour)
	tests/lab/prepare.sh
	tests/lab/addons.sh kube-vip metrics-server local-path-provisioner busybox
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --ignored --skip many_kills)

test-power: build ## test power cuts, with the masters booted in every order (root; 20 minutes)
	tests/lab/prepare.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored power)

test-etcd: build ## test etcd: growth, lost quorum, a full database, a second bootstrap (root; 15 minutes)
	tests/lab/prepare.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored etcd::)

test-security: build ## test what an attacker with one worker can do, and enabling and disabling the agent in a running cluster (root; 8 minutes)
	tests/lab/prepare.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored security::)

test-images: build ## test machines from a baked image, without any network but the cluster's (root; 5 minutes, builds included)
	tests/lab/prepare.sh
	tests/images.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored images::)

test-containerd: build ## test installing containerd and reconfiguring Debian's, and five bare machines from one bundle (root; 15 minutes, builds included)
	tests/lab/prepare.sh
	tests/lab/containerd.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored containerd::)
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored five_bare_machines)

test-official: build ## test `make demo ARTIFACTS=official` with local replacements of the official servers (root; 5 minutes)
	tests/lab/test-official.sh $(binary)

test-guest: build ## test the settings of os in a virtual machine with its own kernel: modules, swap, clock, partitions, LVM, IPv6, limits, locales, name servers, a reboot and reset; only LAB_ACCEL=kvm, which uses KVM, also tests a single master there, with cgroup v2 (root; 25 minutes)
	tests/lab/guest.sh $(binary)

test-releases: build ## test a cluster of each supported release, or RELEASES="v1.36.4 ...", including its kubeadm (root; 45 minutes, builds included)
	for version in $(or $(RELEASES),$(releases)); do \
	  LAB_VERSION=$$version $(MAKE) test-hosts NAME=releases::; \
	done

# $(1): the versions of Kubernetes that the lab needs. An upgrade to the newest one needs another etcd first.
define lab-of
	for version in $(1); do LAB_VERSION=$$version tests/lab/prepare.sh; done
	LAB_VERSION=$(lastword $(releases)) tests/lab/addons.sh etcd-3.6
endef

# A test upgrades to the newest release, and passes through those before it.
test-upgrade: export LAB_VERSION := $(or $(FROM),v1.35.8)
test-upgrade: export LAB_NEXT := $(or $(TO),v1.36.4)
test-upgrade: build ## test upgrades from v1.35.8 to v1.36.4, or FROM=VERSION TO=VERSION, under load and with components that fail, kills and power cuts, and changed flags (root; 90 minutes, builds included)
	$(call lab-of,$(LAB_VERSION) $(LAB_NEXT) $(filter-out $(firstword $(releases)),$(releases)))
	tests/lab/addons.sh kube-vip
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored upgrade::)
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored rolling::)

test-hops: export LAB_VERSION := $(firstword $(releases))
test-hops: build ## test one command that upgrades a cluster of the oldest supported version through every minor version to the newest, under load (root; 90 minutes, builds included)
	$(call lab-of,$(releases))
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored every_minor_version)

test-rollback: export LAB_VERSION := $(or $(FROM),v1.36.4)
test-rollback: export LAB_NEXT := $(or $(TO),v1.37.1)
test-rollback: build ## test the rollback of an upgrade from v1.36.4 to v1.37.1, with that of etcd from 3.7 to 3.6 (root; 15 minutes, builds included)
	$(call lab-of,$(LAB_VERSION) $(LAB_NEXT))
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored rolled_back)

test-lead: build ## test leading from every master, and the replacement of every machine (root; 10 minutes)
	tests/lab/prepare.sh
	$(call host-tests,-p nodeinit-tests --features lab --test lab -- --include-ignored lead::)

test-debian13: build ## test a cluster on hosts with Debian 13 (root; 8 minutes)
	LAB_DEBIAN=13 $(MAKE) test-hosts NAME=releases::

test-packages: packages ## install the packages on hosts, which join a cluster at their next boot, and build them a second time and compare them (root; 30 minutes)
	tests/install.sh
	tests/packages.sh $(or $(CARGO_TARGET_DIR),target)/packages

test-openstack: build ## run all tests of the provisioner on a real OpenStack API whose servers boot (root; 45 minutes)
	tests/lab/prepare.sh
	$(call cloud-tests,)

# $(1): the names of the tests; all if empty.
define cloud-tests
	cargo build --locked -p provisioner --features failpoints
	cp $(provisioner) $(provisioner)-failpoints
	cargo build --locked -p provisioner
	cp $(provisioner) $(provisioner)-lab
	tests/openstack/cloud.sh up
	NODEINIT_LAB=$(abspath $(binary)) PROVISIONER_LAB=$(abspath $(provisioner))-lab \
	PROVISIONER_LAB_FAILPOINTS=$(abspath $(provisioner))-failpoints \
	  cargo test -p nodeinit-tests --features cloud --locked --test cloud -- --test-threads=1 $(1)
	tests/openstack/cloud.sh sweep
	tests/openstack/cloud.sh down
endef

demo: export LAB_ARTIFACTS := $(ARTIFACTS)
demo: export LAB_NODEINIT := $(abspath $(binary))
demo: build ## boot five hosts, create a Kubernetes cluster on them and show it; ARTIFACTS=official fetches Kubernetes instead of building it (root)
	tests/lab/demo.sh $(binary)

demo-down: ## remove the demo's hosts
	tests/lab/host.sh down m1 m2 m3 w1 w2
	tests/lab/host.sh unserve 6443

demo-openstack: build ## create and destroy a cluster on a real OpenStack API (root; 6 minutes with cold caches)
	packaging/release.sh provisioner
	tests/openstack/demo.sh $(binary) $(target)/release/provisioner

demo-openstack-down: ## stop the cloud and remove its hosts; its data stays for the next start
	tests/openstack/cloud.sh down

bench-join: build ## lets 300 workers join at once, and models 5000 (root; docs/internals/joining.md)
	cargo build --locked -p nodeinit-tests --features join --bin join
	tests/bench/join.sh $(target)/debug/join $(binary)

bench-openstack: build ## counts what the provisioner asks of a cloud as a cluster grows to 100 workers (root; docs/internals/provisioner.md)
	tests/lab/prepare.sh
	packaging/release.sh provisioner
	tests/bench/requests.py $(binary) $(target)/release/provisioner

bench: build ## time nodeinit and kubeadm alternately on new hosts (root)
	tests/bench/bench.py $(binary)

bench-bundle: build ## time five bare hosts from one bundle, and from a directory on each, alternately (root; 15 minutes)
	tests/lab/prepare.sh
	tests/bench/bundle.py $(binary)

bench-upgrade: export LAB_VERSION := $(or $(FROM),v1.35.8)
bench-upgrade: export LAB_NEXT := $(or $(TO),v1.36.4)
bench-upgrade: build ## upgrade three masters and two workers from v1.35.8 to v1.36.4, or FROM=VERSION TO=VERSION, under load, with kubeadm and nodeinit alternately (root; an hour)
	LAB_VERSION=$(LAB_NEXT) tests/lab/prepare.sh
	tests/lab/prepare.sh
	tests/bench/upgrade.py $(binary)

bench-pairs: build ## compare nodeinit with an earlier commit, BEFORE=COMMIT, alternately: idle, ha, 300 joins (root; 40 minutes)
	tests/bench/pairs.py $(or $(BEFORE),$(error which commit? make bench-pairs BEFORE=COMMIT))

clean: ## remove build output and leftovers of killed runs in the lab; the lab's caches stay
	cargo clean
	tests/lab/host.sh gc
