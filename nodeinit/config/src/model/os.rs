//! Settings of the operating system.

use super::{
    declare::{Dict, Verdict, choice, keys, place::Place},
    reserved::SYSCTLS_RESERVED,
    texts::{Argument, Module, Sysctl},
};
use std::collections::BTreeMap;

keys! {
    /// What is done to the machine's operating system.
    pub struct Os {
        /// What happens to swap.
        "swap" swap: Swap = "off", to all => swap;
        /// Kernel parameters (sysctls) in addition to those that Kubernetes needs.
        "sysctls" sysctls: BTreeMap<String, String> as Dict<Sysctl, Argument>,
            example "{vm.max_map_count: 262144}", reserved SYSCTLS_RESERVED, to all;
        /// Kernel modules to load in addition to those that Kubernetes needs.
        "modules" modules: Vec<String> as Vec<Module>, example "[ip_vs]", to all;
    }
}

choice! {
    /// What happens to swap.
    pub enum Swap {
        /// switched off, now and at each boot
        "off" Off,
        /// preflight fails where swap is on
        "refuse" Refuse,
        /// left as it is; needs `failSwapOn: false` in `kubelet.config`
        "keep" Keep,
    }
}

fn swap(place: &Place<'_, Swap>, verdict: &mut Verdict<'_>) {
    let kubelet = place.all().kubelet().config().value().unwrap_or_default();
    if place.value() == Some(Swap::Keep) && kubelet.get("failSwapOn") != Some(&false.into()) {
        let what = "the kubelet refuses to start where swap is on";
        place.report(&mut verdict.errors, what, "set `failSwapOn: false` in `kubelet.config` too");
    }
}
