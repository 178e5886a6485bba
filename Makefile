# `make` alone lists what can be done.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help build check test test-openstack demo demo-down demo-openstack demo-openstack-down bench bench-join bench-openstack clean

target := $(or $(CARGO_TARGET_DIR),target)/x86_64-unknown-linux-gnu
binary := $(target)/release/nodeinit
killable := $(target)/debug/nodeinit-failpoints
provisioner := $(target)/debug/provisioner

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-19s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## the released binary, static, and its size
	@tests/tools.sh
	cargo build --release --locked -p nodeinit
	@tests/size.sh $(binary)
	@tests/empty-chroot.sh $(binary)

check: ## what needs neither root nor the lab: format, lints, unit tests, documents, licences
	@tests/tools.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features nodeinit-tests/cloud --locked -- -D warnings
	tests/dependencies.py
	tests/shellcheck.sh
	cargo test --workspace --locked

test: build ## everything, with real hosts, real Kubernetes and a real OpenStack API, but the longer tests of that (root; an hour with cold caches)
	@tests/tools.sh
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features nodeinit-tests/cloud --locked -- -D warnings
	tests/dependencies.py
	tests/shellcheck.sh
	tests/lab/prepare.sh
	tests/lab/selftest.sh
	cargo build --locked -p nodeinit --features failpoints
	cp $(target)/debug/nodeinit $(killable)
	NODEINIT_LAB=$(abspath $(binary)) NODEINIT_LAB_FAILPOINTS=$(abspath $(killable)) \
	  cargo test --workspace --features nodeinit-tests/lab --locked
	$(call cloud-tests,at_once refused terminal whole)

test-openstack: build ## all tests of the provisioner, on a real OpenStack API whose servers boot (root; 30 minutes)
	tests/lab/prepare.sh
	$(call cloud-tests,)

# $(1): which, by their names; all if empty.
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

demo: build ## boots five hosts, makes them a Kubernetes cluster, shows it (root)
	tests/lab/demo.sh $(binary)

demo-down: ## removes the demo's hosts
	tests/lab/host.sh down m1 m2 m3 w1 w2
	tests/lab/host.sh unserve 6443

demo-openstack: build ## makes a cluster on a real OpenStack API and takes it away again (root; 6 minutes with cold caches)
	cargo build --release --locked -p provisioner
	tests/openstack/demo.sh $(binary) $(target)/release/provisioner

demo-openstack-down: ## stops the cloud and removes its hosts; it stays as it is, for the next start
	tests/openstack/cloud.sh down

bench-join: build ## lets 300 workers join at once, and models 5000 (root; docs/scaling.md)
	cargo build --locked -p nodeinit-tests --features join --bin join
	tests/bench/join.sh $(target)/debug/join $(binary)

bench-openstack: build ## counts what the provisioner asks of a cloud as a cluster grows to 100 workers (root; docs/openstack.md)
	tests/lab/prepare.sh
	cargo build --release --locked -p provisioner
	tests/bench/requests.py $(binary) $(target)/release/provisioner

bench: build ## times nodeinit and kubeadm on fresh hosts, alternately (root)
	tests/bench/bench.py $(binary)

clean: ## removes what was built here, and what killed runs left in the lab; the lab's caches stay
	cargo clean
	tests/lab/host.sh gc
