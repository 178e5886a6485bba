//! What another master does for the replacement of a machine. It leads: also where the machine is the first master.

use super::{
    Delivery, State,
    host_keys::{self, HostKeys},
    master::{Master, PATIENCE},
};
use crate::{
    error::Error,
    openstack::Client,
    replace,
    resources::{
        Found, Kind, Part,
        plan::{Obstacle, ObstacleKind},
    },
    userdata::{self, Inputs},
};
use nodeinit_config::cluster::{Machine, Role};
use nodeinit_protocol::status::Refusal;
use std::{
    cell::Cell,
    collections::{BTreeMap, BTreeSet},
};

impl Delivery<'_> {
    /// Why no other master can lead the replacement of this machine, or why etcd would not survive it.
    pub async fn obstacle_to_replacement(&self, name: &str) -> Option<Obstacle> {
        let inputs = self.inputs();
        let unreachable = |error: Error, remedy: &str| {
            let remedy = error.hint().unwrap_or_else(|| remedy.to_owned());
            Obstacle::new(ObstacleKind::Unreachable, error.to_string(), remedy)
        };
        let mut host_keys = match self.host_keys_for(&self.masters_but(name), &[]).await {
            Ok(host_keys) => host_keys,
            Err(error) => {
                return Some(unreachable(error, "run the same command again when the console shows the host key"));
            }
        };
        match self.leader(name, &inputs, &mut host_keys).await {
            Ok((_, state)) => state.loss_of_quorum(name).map(|loss| {
                let what = format!("without {name}, etcd would lose its quorum: {loss}");
                let remedy = "repair the other masters first; a cluster of two masters needs a third one first";
                Obstacle::new(ObstacleKind::Conflict, what, remedy)
            }),
            Err(error) => {
                Some(unreachable(error, "repair another master first, and make sure that you reach it over SSH"))
            }
        }
    }

    /// Removes a worker whose server is gone from the cluster, so that the new one can join on its own.
    ///
    /// # Errors
    /// If no master leads, or if it refuses.
    pub async fn remove_former_worker(&self, name: &str) -> Result<(), Error> {
        let mut host_keys = self.host_keys_for(&self.masters_but(name), &[]).await?;
        let (mut leader, _) = self.leader(name, &self.inputs(), &mut host_keys).await?;
        // Its server is deleted, and its pods with it.
        leader.remove(name, Role::Worker, true).await?;
        self.tell(&format!("the former {name} is no longer a worker of the cluster"));
        Ok(())
    }

    /// Brings the new machine into the place of the former one, on another master that leads. Then it sets `ended`,
    /// records that the machine is replaced, and tells the other machines.
    ///
    /// # Errors
    /// If no master leads, or if it refuses.
    pub async fn replace(&self, name: &str, role: Role, ended: &Cell<bool>) -> Result<(), Error> {
        let cluster = &self.loaded.cluster;
        let self_join = userdata::workers_self_join(self.loaded);
        let joins_alone = role == Role::Worker && self_join;
        let reached = cluster.masters.iter().chain(cluster.workers.iter().filter(|_| !self_join));
        let needed: &[&str] = if joins_alone { &[] } else { &[name] };
        let inputs = self.inputs();
        let mut host_keys = self.host_keys_for(&reached.collect::<Vec<_>>(), needed).await?;
        let (mut leader, state) = self.leader(name, &inputs, &mut host_keys).await?;
        self.tell(&format!("{} leads the replacement of {name}", leader.shown()));
        host_keys::keep(self, &host_keys).await;
        // The machines do not log in to the bastion.
        let mut inside = host_keys.clone();
        self.cloud.bastion.iter().for_each(|bastion| drop(inside.remove(&bastion.name)));
        let tokens = match self_join {
            true => cluster.workers.iter().filter_map(|worker| self.token(&worker.name, &inputs)).collect(),
            false => BTreeMap::new(),
        };
        let bundle = self.secrets.for_first_master(&tokens, &inside);
        let config = userdata::master_config(self.loaded, &inputs)?;
        let moves = self.moves(name);
        if moves {
            leader.equip(&config).await?;
        }
        let command = match joins_alone {
            true => format!("worker add {name}"),
            // Its server is deleted, and its pods with it.
            false => format!("{role} replace {name} --force"),
        };
        leader.nodeinit_with(&bundle, &command).await?;
        if joins_alone {
            let waited = self.wait_for_workers(&leader, BTreeSet::from([name]), state.ready()).await;
            leader.delete_spent_tokens().await?;
            waited?;
        } else {
            if role == Role::Master {
                self.add_member(name, &inputs).await?;
            }
            if userdata::role(cluster, name) == Some(Role::FirstMaster) {
                let first = self.reach(&cluster.masters[0], &inputs, &mut host_keys, self.patience).await?;
                first.equip(&config).await?;
                first.entrust(&bundle).await?;
            }
            self.write_kubeconfig(&leader.admin().await?, &inputs)?;
        }
        let tell_others = async {
            // They do not log in to a worker that joins on its own.
            if joins_alone && !moves {
                return Ok(());
            }
            self.tell(&format!(
                "{name} is replaced; {} now applies its configuration to the other machines, so that they know {name} \
                 (if this is interrupted, run `provisioner apply`)",
                leader.name()
            ));
            // The first command has removed the bundle, and the new host key is only there.
            leader.nodeinit_with(&bundle, "up --lead").await
        };
        end(self.client, &self.found, name, ended, tell_others).await
    }

    /// Whether the machine gets another address, or got one that the other machines do not all know yet.
    fn moves(&self, name: &str) -> bool {
        let cluster = &self.loaded.cluster;
        let machine = cluster.masters.iter().chain(&cluster.workers).find(|machine| machine.name == name);
        let address = machine.and_then(|machine| machine.address);
        let port = self.found.iter().find(|found| found.part == Part::new(Kind::Port, name));
        port.is_some_and(|port| replace::moves(port) || address.is_some_and(|address| !port.has_address(address)))
    }

    fn masters_but(&self, name: &str) -> Vec<&Machine> {
        self.loaded.cluster.masters.iter().filter(|master| master.name != name).collect()
    }

    /// The host keys of these machines and of the bastion; those of the bastion and of `needed` must be known.
    async fn host_keys_for(&self, machines: &[&Machine], needed: &[&str]) -> Result<HostKeys, Error> {
        let bastion = self.cloud.bastion.as_ref().map(|bastion| bastion.name.as_str());
        let names: Vec<&str> = machines.iter().map(|machine| machine.name.as_str()).chain(bastion).collect();
        let needed: Vec<&str> = needed.iter().copied().chain(bastion).collect();
        host_keys::host_keys(self, &names, &needed).await
    }

    /// The first other master in the configuration that lets us in and sees the API and a quorum of etcd.
    async fn leader(
        &self,
        name: &str,
        inputs: &Inputs,
        host_keys: &mut HostKeys,
    ) -> Result<(Master<'_>, State), Error> {
        let mut refusals = Vec::new();
        for master in self.masters_but(name) {
            match self.lead(master, inputs, host_keys, self.moves(name)).await {
                Ok(leader) => return Ok(leader),
                Err(why) => refusals.push((master.name.as_str(), why)),
            }
        }
        Err(no_leader(name, &refusals))
    }

    async fn lead(
        &self,
        master: &Machine,
        inputs: &Inputs,
        host_keys: &mut HostKeys,
        is_sent: bool,
    ) -> Result<(Master<'_>, State), Refusal> {
        let refusal = |what: String| Refusal { what, hint: String::new() };
        let server = Part::new(Kind::Server, &master.name);
        match self.found.iter().find(|found| found.part == server) {
            None => return Err(refusal("it has no server".to_owned())),
            Some(server) if server.state() != "ACTIVE" => {
                return Err(refusal(format!("its server is {}", server.state())));
            }
            Some(_) => {}
        }
        let limit = self.patience.min(PATIENCE);
        let leader = self.reach(master, inputs, host_keys, limit).await.map_err(|error| refusal(error.to_string()))?;
        let state = leader.state().await.map_err(|error| refusal(error.to_string()))?;
        match state.obstacle_to_leading(is_sent) {
            Some(why) => Err(why),
            None => Ok((leader, state)),
        }
    }
}

/// Why none of these masters leads the replacement of `name`. What a master itself advises is easier than the repair of another one.
fn no_leader(name: &str, refusals: &[(&str, Refusal)]) -> Error {
    let reasons: Vec<String> = refusals.iter().map(|(master, why)| format!("{master}: {}", why.what)).collect();
    let advice = refusals.iter().find(|(_, why)| !why.hint.is_empty());
    let repair = "repair another master first, and make sure that you reach it over SSH: with `openstack.floatingIPs: first-master`, \
                  only the first master has a floating IP; set it to `masters`, or use a bastion";
    Error::Refused {
        what: format!("no other master can lead the replacement of {name}: {}", reasons.join("; ")),
        remedy: advice.map_or_else(|| repair.to_owned(), |(master, why)| format!("on {master}: {}", why.hint)),
    }
}

/// Records that the machine `name` is replaced, then tells the other machines: their failure must not begin its replacement again.
async fn end(
    client: &Client,
    ours: &[Found],
    name: &str,
    ended: &Cell<bool>,
    tell_others: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    // Before the request: its answer may be lost. A complete `apply` records the end, too.
    ended.set(true);
    replace::end(client, ours, name).await?;
    tell_others.await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{alter, applied, cluster, listener::with_cloud};
    use nodeinit_protocol::Exit;
    use serde_json::json;

    #[test]
    fn a_master_whose_upgrade_has_not_ended_is_named_with_the_command_that_ends_it() {
        let refusal = |what: &str, hint: &str| Refusal { what: what.into(), hint: hint.into() };
        let error = no_leader(
            "m1",
            &[
                ("m2", refusal("its server is SHUTOFF", "")),
                (
                    "m3",
                    refusal(
                        "the upgrade of this machine to v1.37.1 has not ended",
                        "run `nodeinit upgrade apply v1.37.1`",
                    ),
                ),
            ],
        );
        let what = "no other master can lead the replacement of m1: m2: its server is SHUTOFF; \
                    m3: the upgrade of this machine to v1.37.1 has not ended";
        assert_eq!(error.to_string(), what);
        assert_eq!(error.hint().as_deref(), Some("on m3: run `nodeinit upgrade apply v1.37.1`"));
        let error = no_leader("m1", &[("m2", refusal("its server is SHUTOFF", ""))]);
        assert!(error.hint().is_some_and(|hint| hint.starts_with("repair another master first")));
    }

    #[test]
    fn a_replacement_has_ended_before_the_other_machines_are_told() {
        let mut snapshot = applied(&cluster(""));
        alter(&mut snapshot, "port/m1", |body| {
            body["description"] = json!(format!("{} replaces=former", body["description"].as_str().unwrap()));
        });
        for (status, is_recorded) in [(200, true), (409, false)] {
            let ours = snapshot.ours.clone();
            with_cloud(
                move |_| Some((status, json!({ "port": {} }))),
                |client, seen| async move {
                    let (ended, told) = (Cell::new(false), Cell::new(false));
                    let tell_others = async {
                        told.set(true);
                        let writes = seen.borrow().iter().filter(|request| request.method == "PUT").count();
                        assert_eq!(writes, 1, "the port still says that the machine is being replaced");
                        Err(Error::Machine { what: "the lease has ended".into(), exit: Exit::TryAgain })
                    };
                    end(&client, &ours, "m1", &ended, tell_others).await.unwrap_err();
                    assert_eq!((ended.get(), told.get()), (true, is_recorded));
                },
            );
        }
    }
}
