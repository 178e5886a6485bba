//! The configuration that `config init` puts together.

use nodeinit_config::{
    Layer, Loaded, Problems,
    cluster::Cluster,
    keys::{API_VERSION, KIND},
    load,
};
use serde_json::{Value, json};

/// Paths of keys, each with a value as YAML.
pub(super) type Settings = Vec<(&'static str, String)>;

/// What was chosen so far, which is always a good configuration.
pub(super) struct Draft {
    layers: Vec<Layer>,
    loaded: Loaded,
}

impl Draft {
    /// Of the layers and the two keys that begin every file.
    ///
    /// # Errors
    /// Everything that is wrong in the layers.
    pub(super) fn new(layers: Vec<Layer>) -> Result<Self, Problems> {
        let header = [("apiVersion", API_VERSION), ("kind", KIND)];
        let header = header.into_iter().map(|(key, value)| Layer::setting("default", key, value));
        let layers: Vec<Layer> = header.chain(layers).collect();
        Ok(Self { loaded: load(&layers)?, layers })
    }

    /// Takes an answer over. Where it is wrong, nothing changes.
    ///
    /// # Errors
    /// What is wrong with it, alone or together with what was chosen before.
    pub(super) fn set(&mut self, settings: Settings) -> Result<(), Problems> {
        let more = settings.into_iter().map(|(path, value)| Layer::setting("answer", path, value));
        let layers: Vec<Layer> = self.layers.iter().cloned().chain(more).collect();
        self.loaded = load(&layers)?;
        self.layers = layers;
        Ok(())
    }

    /// What `config init` writes.
    pub(super) fn layers(&self) -> &[Layer] {
        &self.layers
    }

    pub(super) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    pub(super) fn cluster(&self) -> &Cluster {
        &self.loaded.cluster
    }

    /// A value that is chosen or a default, as text; empty where it is neither.
    pub(super) fn text(&self, path: &str) -> String {
        self.loaded.value(path).as_str().unwrap_or_default().to_owned()
    }

    /// The entries of `masters` or `workers`, with their secrets.
    pub(super) fn machines(&self, list: &str) -> Vec<Value> {
        self.loaded.value(list).as_array().cloned().unwrap_or_default()
    }
}

/// A machine of a list, written `NAME` or `NAME=ADDRESS`. The name and the address are checked with the rest of the configuration.
pub(super) fn machine(text: &str) -> Result<Value, String> {
    let (name, address) = text.split_once('=').map_or((text, None), |(name, address)| (name, Some(address)));
    let (name, address) = (name.trim(), address.map(str::trim));
    if name.is_empty() || name.parse::<std::net::IpAddr>().is_ok() {
        return Err(format!("{text:?} names no machine: write NAME=ADDRESS, such as m2=10.0.0.12"));
    }
    Ok(match address {
        Some(address) => json!({ "name": name, "address": address }),
        None => json!({ "name": name }),
    })
}

/// Machines with spaces or commas between them.
pub(super) fn machines(text: &str) -> Result<Vec<Value>, String> {
    text.split([' ', ',']).filter(|part| !part.is_empty()).map(machine).collect()
}

/// A text as YAML: JSON's strings are some.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_written_with_or_without_an_address() {
        let all = machines("m2=10.0.0.12, m3=fd00::3  w1").unwrap();
        assert_eq!(all[0], json!({"name": "m2", "address": "10.0.0.12"}));
        assert_eq!(all[1..], [json!({"name": "m3", "address": "fd00::3"}), json!({"name": "w1"})]);
        for wrong in ["10.0.0.1", "fd00::1", "=10.0.0.1"] {
            assert!(machines(wrong).unwrap_err().contains("write NAME=ADDRESS"), "{wrong}");
        }
    }

    #[test]
    fn a_wrong_answer_changes_nothing() {
        let mut draft = Draft::new(Vec::new()).unwrap();
        let wrong = vec![("name", quoted("demo")), ("network.podCIDR", quoted("10.96.0.0/16"))];
        assert!(draft.set(wrong).unwrap_err().to_string().contains("overlaps network.serviceCIDR"));
        assert_eq!(draft.text("name"), "kubernetes");
        draft.set(vec![("name", quoted("demo"))]).unwrap();
        assert_eq!(draft.text("name"), "demo");
    }
}
