//! NAT for the private network, and a limit for new SSH connections, in an nftables table of nodeinit's own.

use super::{section, sshd};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, net, systemd},
    render::{
        bastion::{self, Firewall, TABLE},
        paths, units,
    },
};
use async_trait::async_trait;
use std::time::Duration;

pub(super) const UNIT: &str = "nodeinit-bastion.service";

/// Limit for one call of `nft`, which takes milliseconds except under heavy load.
const LIMIT: Duration = Duration::from_secs(30);

/// Step `bastion-firewall`: loads the rules now and, at each boot, before the network is up.
pub struct Rules;

/// Returns the outer and the inner interface.
///
/// # Errors
/// If there are no two interfaces for them.
pub fn interfaces(cx: &Context) -> Result<(String, String), StepError> {
    let network = section(cx)?.network;
    let unfit = |what: String, hint: &str| StepError::new(what).exit(Exit::Unfit).hint(hint);
    let Some(outer) = net::default_interface(&cx.files, network.addr().is_ipv4())? else {
        let family = if network.addr().is_ipv4() { "IPv4" } else { "IPv6" };
        let what = format!("no default route for {family}: the private network cannot reach the outside");
        return Err(unfit(what, "configure the default route of this machine, then run the same command again"));
    };
    let Some(inner) = cx.facts.interface.clone() else {
        let what = format!("no interface has the address {}", cx.node.address);
        return Err(unfit(what, "configure the interface of the private network, then run the same command again"));
    };
    if outer == inner {
        let what = format!("{outer} has both the default route and the address {} in {network}", cx.node.address);
        return Err(unfit(what, "connect the private network to a second interface, or correct `bastion.network`"));
    }
    Ok((outer, inner))
}

async fn rules(cx: &Context) -> Result<bastion::Rules, StepError> {
    let (own, (outer, inner)) = (section(cx)?, interfaces(cx)?);
    let (network, ssh_rate) = (own.network, own.ssh_rate);
    let ssh_ports = sshd::Effective::read(cx).await?.ports();
    Ok(bastion::rules(&Firewall { outer, inner, network, ssh_ports, ssh_rate }))
}

fn files(rules: &bastion::Rules) -> Vec<NewFile> {
    vec![
        NewFile::public(paths::BASTION_NFTABLES_DROP_IN, units::BASTION_NFTABLES_DROP_IN),
        NewFile::public(paths::BASTION_RULES, rules.text.clone()),
        NewFile::public(paths::BASTION_UNIT, units::BASTION),
    ]
}

/// Returns the table as the kernel has it; `None` if there is none. Does not call `nft` if nodeinit never started the unit.
pub(super) async fn table(cx: &Context) -> Option<String> {
    if !cx.journal.state().units.contains(UNIT) {
        return None;
    }
    // This fails if there is no such table, or no `nft`.
    cx.commands.run(&[&["nft", "list"], &TABLE[..]].concat(), LIMIT).await.ok()
}

/// Removes the table from the kernel.
pub(super) async fn remove(cx: &Context) -> Result<(), StepError> {
    if table(cx).await.is_some() {
        cx.commands.run(&[&["nft", "delete"], &TABLE[..]].concat(), LIMIT).await?;
    }
    Ok(())
}

/// Returns what differs from the rules.
async fn changes(cx: &Context, rules: &bastion::Rules) -> Result<Vec<String>, StepError> {
    let mut changes = cx.differing(&files(rules))?;
    let is_loaded = table(cx).await.is_some_and(|listed| rules.are_in(&listed));
    if !is_loaded {
        changes.push(format!("load {} into nftables", TABLE.join(" ")));
    }
    if !cx.files.exists(systemd::enabled(UNIT)) {
        changes.push(format!("enable {UNIT}"));
    }
    Ok(changes)
}

#[async_trait(?Send)]
impl Step for Rules {
    fn id(&self) -> StepId {
        StepId::Bastion("bastion-firewall")
    }

    fn title(&self) -> String {
        "set up NAT for the private network, limit new SSH connections".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        Ok(State::of(changes(cx, &rules(cx).await?).await?))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        cx.place(files(&rules(cx).await?)).await?;
        cx.start_unit(UNIT).await.map_err(|error| {
            error.hint("see `journalctl -u nodeinit-bastion`: the kernel needs nf_tables with NAT in the family inet (Linux 5.2)")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{super::testing::bastion, *};
    use crate::render::HostFacts;
    use std::sync::Arc;

    fn rules() -> bastion::Rules {
        let (outer, inner) = ("eth0".into(), "eth1".into());
        let network = "10.0.0.0/24".parse().unwrap();
        bastion::rules(&Firewall { outer, inner, network, ssh_ports: vec![22], ssh_rate: 30 })
    }

    #[test]
    fn the_interfaces_are_found_by_route_and_address() {
        let (_dir, mut cx) = bastion("");
        assert_eq!(interfaces(&cx).unwrap(), ("eth0".to_owned(), "eth1".to_owned()), "the route with the least metric");
        cx.facts = Arc::new(HostFacts { interface: Some("eth0".into()), ..HostFacts::default() });
        let error = interfaces(&cx).unwrap_err();
        assert_eq!(error.to_string(), "eth0 has both the default route and the address 10.0.0.11 in 10.0.0.0/24");
        cx.facts = Arc::default();
        assert!(interfaces(&cx).unwrap_err().to_string().contains("no interface has the address 10.0.0.11"));
    }

    #[tokio::test]
    async fn the_plan_names_files_table_and_unit() {
        let (_dir, cx) = bastion("");
        let found = changes(&cx, &rules()).await.unwrap();
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(found[3..], ["load table inet nodeinit_bastion into nftables", "enable nodeinit-bastion.service"]);
        cx.place(files(&rules())).await.unwrap();
        assert_eq!(changes(&cx, &rules()).await.unwrap().len(), 2, "the files are there");
    }

    #[test]
    fn the_unit_loads_the_rules_before_the_network_is_up() {
        for unit in [units::BASTION, units::BASTION_NFTABLES_DROP_IN] {
            assert!(unit.contains(&format!("nft -f {}", paths::BASTION_RULES)), "{unit}");
        }
        assert!(units::BASTION.contains("Before=network-pre.target"));
        assert!(paths::BASTION_UNIT.ends_with(UNIT));
    }
}
