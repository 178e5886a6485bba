//! etcd.

use super::{
    declare::{Dict, Verdict, keys, place::Place},
    reserved::ETCD_RESERVED,
    texts::{Argument, FlagName},
};
use std::{collections::BTreeMap, path::PathBuf};

keys! {
    /// etcd, as a static pod on every master.
    pub struct Etcd {
        /// Directory for etcd's data.
        "dataDirectory" data_directory: PathBuf = "/var/lib/etcd", to masters, immutable => own_directory;
        /// Flags, without leading dashes, merged over nodeinit's own.
        "extraArgs" extra_args: BTreeMap<String, String> as Dict<FlagName, Argument>,
            example "{quota-backend-bytes: 4294967296}", reserved ETCD_RESERVED, to masters => metrics_address;
    }
}

fn own_directory(place: &Place<'_, PathBuf>, verdict: &mut Verdict<'_>) {
    let Some(directory) = place.value() else { return };
    // The root itself is a component, too.
    if directory.components().count() < 3 {
        let what = format!("{directory:?} is used by other programs, too; etcd needs a directory of its own");
        place.report(&mut verdict.errors, what, "use a separate directory, such as /var/lib/etcd");
    }
}

/// The flag that must contain etcd's default health address.
const METRICS: &str = "listen-metrics-urls";

fn metrics_address(place: &Place<'_, Dict<FlagName, Argument>>, verdict: &mut Verdict<'_>) {
    let health = ["http://127.0.0.1:2381", "http://0.0.0.0:2381", "http://[::]:2381", "http://:2381"];
    let Some(urls) = place.value().and_then(|mut flags| flags.remove(METRICS)) else { return };
    if !urls.split(',').any(|url| health.contains(&url.trim_end_matches('/'))) {
        let what = "with this value, etcd does not listen at 127.0.0.1:2381, where nodeinit checks its health";
        place.value_of(METRICS).report(&mut verdict.errors, what, format!("write {urls},http://127.0.0.1:2381"));
    }
}
