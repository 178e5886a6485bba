//! `clouds.yaml`, and `secure.yaml` over it.

use super::{Variables, wrong};
use crate::error::Error;
use serde_json::{Map, Value};
use std::{io, path::PathBuf};

/// The entry of a cloud, with what `secure.yaml` adds.
pub(super) fn entry(name: &str, variables: Variables<'_>) -> Result<Map<String, Value>, Error> {
    let Some((path, clouds)) = first(&places("OS_CLIENT_CONFIG_FILE", "clouds", variables))? else {
        let places = places("OS_CLIENT_CONFIG_FILE", "clouds", variables);
        let looked: Vec<String> = places.iter().map(|p| p.display().to_string()).collect();
        return Err(wrong(
            format!("the cloud {name} cannot be looked up: there is no clouds.yaml"),
            format!("put it at one of {}", looked.join(", ")),
        ));
    };
    let known = clouds.get("clouds").and_then(Value::as_object);
    let Some(mut entry) = known.and_then(|known| known.get(name)).cloned() else {
        let names: Vec<&str> = known.map(|known| known.keys().map(String::as_str).collect()).unwrap_or_default();
        return Err(wrong(
            format!("{} has no cloud {name}", path.display()),
            format!("use one of the clouds in that file: {}", names.join(", ")),
        ));
    };
    let mut secure = places("OS_CLIENT_SECURE_FILE", "secure", variables);
    // A clouds.yaml named by hand has its secrets beside it.
    secure.extend(["secure.yaml", "secure.yml"].map(|file| path.with_file_name(file)));
    if let Some((_, secrets)) = first(&secure)?
        && let Some(over) = secrets.get("clouds").and_then(|clouds| clouds.get(name))
    {
        merge(&mut entry, over);
    }
    match entry {
        Value::Object(entry) => Ok(entry),
        _ => Err(wrong(
            format!("{}: the entry of {name} is not a map", path.display()),
            "write a map with the key `auth:` there",
        )),
    }
}

/// Source: openstacksdk, "Configuring OpenStack SDK Applications".
fn places(variable: &str, file: &str, variables: Variables<'_>) -> Vec<PathBuf> {
    if let Some(path) = variables(variable) {
        return vec![PathBuf::from(path)];
    }
    let home = variables("HOME").map(PathBuf::from);
    let user = variables("XDG_CONFIG_HOME").map(PathBuf::from).or_else(|| home.map(|home| home.join(".config")));
    let folders =
        [Some(PathBuf::from(".")), user.map(|user| user.join("openstack")), Some(PathBuf::from("/etc/openstack"))];
    let names = [format!("{file}.yaml"), format!("{file}.yml")];
    folders.into_iter().flatten().flat_map(|folder| names.clone().map(|name| folder.join(name))).collect()
}

fn first(places: &[PathBuf]) -> Result<Option<(PathBuf, Value)>, Error> {
    for path in places {
        match std::fs::read_to_string(path) {
            Ok(text) => {
                let read = nodeinit_config::yaml::document(&text);
                let read = read
                    .map_err(|e| wrong(format!("{}: {e}", path.display()), "correct the YAML syntax of this file"))?;
                return Ok(Some((path.clone(), read)));
            }
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => {
                return Err(wrong(
                    format!("cannot read {}: {e}", path.display()),
                    "check the permissions of this file",
                ));
            }
        }
    }
    Ok(None)
}

fn merge(base: &mut Value, over: &Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a test's own directory")]
    fn secrets_lie_beside() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
        write("clouds.yaml", "clouds:\n  a: {auth: {auth_url: u, username: operator}}\n  b: {}\n");
        write("secure.yaml", "clouds:\n  a: {auth: {password: p}}\n");
        let path = folder.path().join("clouds.yaml").display().to_string();
        let variables = |name: &str| (name == "OS_CLIENT_CONFIG_FILE").then(|| path.clone());
        let found = entry("a", &variables).unwrap();
        assert_eq!(
            Value::Object(found),
            serde_json::json!({ "auth": { "auth_url": "u", "username": "operator", "password": "p" } })
        );
        let error = entry("c", &variables).unwrap_err();
        assert!(error.to_string().contains("has no cloud c") && error.hint().unwrap().contains("a, b"), "{error}");
    }
}
