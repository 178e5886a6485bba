//! Addons.

use super::{
    addon::Addon,
    declare::{Form, Verdict, keys, place::Place},
    field::{Audience, Fallback, Field, Kind},
};
use std::{collections::BTreeMap, path::PathBuf};

/// `addons` as it is written: the keys of [`FixedKeys`], and one for each optional addon.
pub(crate) enum AddonKeys {}

keys! {
    /// What every cluster has or may have.
    pub(crate) struct FixedKeys {
        /// kube-proxy: implements services with iptables or nftables.
        "kubeProxy" kube_proxy: bool = "true", to all;
        /// CoreDNS: DNS inside the cluster.
        "coreDNS" core_dns: bool = "true", to all;
        /// The pod network.
        "cni" cni: Cni = "flannel", to all;
        /// A directory on the first master: every manifest in it is applied unchanged when the cluster is ready. Objects that are removed
        /// from it are deleted.
        "manifests" manifests: Option<PathBuf>, else "none", example "/etc/nodeinit/addons", to all;
    }
}

keys! {
    /// The user's own pod network.
    pub(crate) struct OwnCni {
        /// Every manifest in this directory is applied.
        "directory" directory: PathBuf = required, to all;
    }
}

/// Addons, applied when the API server is ready.
#[derive(Clone, Debug, PartialEq)]
pub struct Addons {
    /// `addons.kubeProxy`. Default true.
    pub kube_proxy: bool,
    /// `addons.coreDNS`. Default true.
    pub coredns: bool,
    /// `addons.cni`. Default `flannel`.
    pub cni: Cni,
    /// The enabled optional addons. Default none.
    pub optional: Vec<Addon>,
    /// `addons.manifests`: a directory with the user's own manifests.
    pub manifests: Option<PathBuf>,
}

const FIXED: usize = FixedKeys::KEYS.len();
const KEYS: [Field; FIXED + Addon::ALL.len()] = {
    let mut keys = [FixedKeys::KEYS[0]; FIXED + Addon::ALL.len()];
    let mut at = 1;
    while at < keys.len() {
        keys[at] = if at < FIXED { FixedKeys::KEYS[at] } else { switch(Addon::ALL[at - FIXED]) };
        at += 1;
    }
    keys
};

const fn switch(addon: Addon) -> Field {
    let (kind, default) = (Kind::Flag, Fallback::Value("false"));
    Field { key: addon.key(), kind, default, doc: addon.description(), audience: Audience::All }
}

impl<'t> Place<'t, AddonKeys> {
    pub(crate) fn fixed(&self) -> Place<'t, FixedKeys> {
        self.cast()
    }
}

impl Form for AddonKeys {
    type Value = Addons;
    const KIND: Kind = Kind::Group(&KEYS);

    fn read(place: &Place<'_, Self>) -> Option<Addons> {
        let fixed = place.fixed().value()?;
        let is_on = |addon: &Addon| place.below::<bool>(addon.key()).value() == Some(true);
        Some(Addons {
            kube_proxy: fixed.kube_proxy,
            coredns: fixed.core_dns,
            cni: fixed.cni,
            optional: Addon::ALL.into_iter().filter(is_on).collect(),
            manifests: fixed.manifests,
        })
    }

    fn check(place: &Place<'_, Self>, verdict: &mut Verdict<'_>) {
        Form::check(&place.fixed(), verdict);
    }

    fn immutable(place: &Place<'_, Self>, values: &mut BTreeMap<String, String>) {
        Form::immutable(&place.fixed(), values);
    }
}

/// The pod network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cni {
    /// `none`: the user installs one; nodes stay NotReady until then.
    None,
    /// `flannel`: the default, with VXLAN.
    Flannel,
    /// `{directory: PATH}`: every manifest in this directory is applied.
    Directory(PathBuf),
}

impl Form for Cni {
    type Value = Self;
    const KIND: Kind = Kind::ChoiceOrGroup(
        &[
            ("flannel", "the default, with VXLAN"),
            ("none", "you install a pod network yourself; nodes stay NotReady until then"),
        ],
        OwnCni::KEYS,
    );

    fn read(place: &Place<'_, Self>) -> Option<Self> {
        match place.written()?.scalar() {
            Some("none") => Some(Self::None),
            Some("flannel") => Some(Self::Flannel),
            Some(_) => None,
            None => Some(Self::Directory(place.cast::<OwnCni>().value()?.directory)),
        }
    }
}
