//! Reads the SSH host keys of other machines, and keeps those that the operator confirms.

use super::{draft::Draft, terminal::Terminal};
use crate::engine::error::StepError;
use nodeinit_base::causes::with_causes;
use nodeinit_ssh::{Session, Target, fingerprint};
use serde_json::Value;
use std::{collections::BTreeMap, time::Duration};

/// How long a machine may take to accept the connection, and then to show its key.
const LIMIT: Duration = Duration::from_secs(10);

/// Shows the host key of each machine, and returns those that the operator confirms, by the machine's name.
///
/// # Errors
/// Where the answers end, or the terminal is gone.
pub(super) async fn read(
    targets: &[Target],
    terminal: &mut Terminal<'_>,
) -> Result<BTreeMap<String, String>, StepError> {
    let mut confirmed = BTreeMap::new();
    for target in targets {
        let name = &target.name;
        let Some(key) = shown(target, terminal).await? else { continue };
        let fingerprint = fingerprint(&key).unwrap_or_else(|| key.clone());
        let kind = if key.starts_with("ecdsa-") { "ecdsa" } else { "ed25519" };
        terminal.say(&format!("{name} at {} shows the host key {fingerprint}", target.address))?;
        terminal.say(&format!(
            "  to print the fingerprint on the machine's console: ssh-keygen -lf /etc/ssh/ssh_host_{kind}_key.pub"
        ))?;
        if terminal.confirm(&format!("Does the console of {name} print the same fingerprint?"), false)? {
            confirmed.insert(name.clone(), key);
        }
    }
    Ok(confirmed)
}

/// `None`: it shows none, and the operator gives up.
async fn shown(target: &Target, terminal: &mut Terminal<'_>) -> Result<Option<String>, StepError> {
    loop {
        match Session::shown_host_key(target, LIMIT).await {
            Ok(key) => return Ok(Some(key)),
            Err(e) => terminal.say(&format!("  {}", with_causes(&e)))?,
        }
        if !terminal.confirm(&format!("Try {} again?", target.name), false)? {
            return Ok(None);
        }
    }
}

/// Writes the keys into the entries of their machines.
///
/// # Errors
/// Where the configuration does not accept one.
pub(super) fn keep(draft: &mut Draft, keys: &BTreeMap<String, String>) -> Result<(), StepError> {
    for list in ["masters", "workers"] {
        let mut machines = draft.machines(list);
        for machine in &mut machines {
            if let Some(key) = machine["name"].as_str().and_then(|name| keys.get(name)) {
                machine["hostKeys"] = Value::from([key.as_str()]);
            }
        }
        if !machines.is_empty() {
            draft.set(vec![(list, Value::from(machines).to_string())])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{super::terminal::testing::answered, *};
    use crate::steps::fanout::server::{Server, free_address};
    use nodeinit_config::Layer;

    #[tokio::test]
    async fn only_confirmed_keys_are_kept() {
        let (first, second) = (Server::start(""), Server::start(""));
        let target =
            |name: &str, server: &Server| Target { name: name.into(), host_keys: Vec::new(), ..server.target() };
        let targets = [target("m2", &first), target("m3", &second)];
        let (keys, printed) = answered("yes\nno\n", async |terminal| read(&targets, terminal).await).await;
        assert_eq!(keys.unwrap(), [("m2".to_owned(), first.host_key.clone())].into());
        for server in [&first, &second] {
            assert!(printed.contains(&fingerprint(&server.host_key).unwrap()), "{printed}");
        }
        // Enter is no consent.
        let (keys, _) = answered("\n\n", async |terminal| read(&targets, terminal).await).await;
        assert!(keys.unwrap().is_empty());
    }

    #[tokio::test]
    async fn a_machine_that_does_not_answer_is_tried_again_or_left_out() {
        let server = Server::start("");
        let silent = Target { address: free_address(), ..server.target() };
        let targets = [silent, server.target()];
        let (keys, printed) = answered("yes\nno\nyes\n", async |terminal| read(&targets, terminal).await).await;
        assert_eq!(keys.unwrap().len(), 1);
        assert_eq!(printed.matches("cannot reach the SSH server of m2").count(), 2, "{printed}");
    }

    #[test]
    fn keys_are_written_into_the_entries_of_their_machines() {
        let hash = nodeinit_config::format::PASSWORD_HASH.example;
        let m1 = format!("{{name: m1, address: 10.0.0.11, os: {{rootPasswordHash: {hash}}}}}");
        let masters = format!("[{m1}, {{name: m2, address: 10.0.0.12, labels: {{a: b}}}}]");
        let mut draft = Draft::new(vec![Layer::setting("--set", "masters", masters)]).unwrap();
        let key = nodeinit_config::format::HOST_KEY.example;
        keep(&mut draft, &[("m2".to_owned(), key.to_owned())].into()).unwrap();
        let masters = &draft.cluster().masters;
        assert!(masters[0].host_keys.is_empty() && masters[1].host_keys == [key] && masters[1].labels["a"] == "b");
        assert_eq!(masters[0].os["rootPasswordHash"], hash, "a secret is kept, not its mask");
    }
}
