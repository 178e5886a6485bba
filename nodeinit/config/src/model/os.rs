//! Settings of the operating system.

use super::{
    declare::{Dict, Verdict, choice, keys, place::Place},
    reserved::SYSCTLS_RESERVED,
    texts::{Argument, Module, Sysctl},
};
use std::collections::BTreeMap;

keys! {
    /// Settings for the operating system.
    pub struct Os {
        /// How nodeinit configures swap.
        "swap" swap: Swap = "off", to all => swap;
        /// Kernel parameters (sysctls) in addition to those that Kubernetes needs.
        "sysctls" sysctls: BTreeMap<String, String> as Dict<Sysctl, Argument>,
            example "{vm.max_map_count: 262144}", reserved SYSCTLS_RESERVED, to all;
        /// Kernel modules to load in addition to those that Kubernetes needs.
        "modules" modules: Vec<String> as Vec<Module>, example "[ip_vs]", to all;
    }
}

choice! {
    /// How nodeinit configures swap.
    pub enum Swap {
        /// disabled, now and at each boot
        "off" Off,
        /// preflight fails if swap is on
        "refuse" Refuse,
        /// unchanged; needs `failSwapOn: false` in `kubelet.config`
        "keep" Keep,
    }
}

fn swap(place: &Place<'_, Swap>, verdict: &mut Verdict<'_>) {
    let kubelet = place.all().kubelet().config().value().unwrap_or_default();
    if place.value() == Some(Swap::Keep) && kubelet.get("failSwapOn") != Some(&false.into()) {
        let what = "the kubelet refuses to start if swap is on";
        place.report(&mut verdict.errors, what, "also set `failSwapOn: false` in `kubelet.config`");
    }
}
