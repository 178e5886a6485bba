//! Several hosts of the lab, for one cluster.

use crate::{
    host::{Balancer, Host, Made, booted, lab_directory},
    output::Output,
};

/// Freshly booted hosts, and a load balancer before the masters. The first master has nodeinit, the configuration of all, and
/// the key that opens the others. Removed when it is dropped.
#[derive(Debug)]
pub struct Cluster {
    /// Ends before the first master, whose name gives it its port: another test may take that name at once.
    balancer: Balancer,
    /// The masters; the first is the first master.
    pub masters: Vec<Host>,
    /// The workers.
    pub workers: Vec<Host>,
}

impl Cluster {
    /// Boots hosts that have nothing but containerd and files.
    #[must_use]
    pub fn fresh(masters: usize, workers: usize) -> Self {
        Self::made(masters, workers, Made::Plain)
    }

    /// Boots hosts that have all images in containerd already.
    #[must_use]
    pub fn with_images(masters: usize, workers: usize) -> Self {
        Self::made(masters, workers, Made::WithImages)
    }

    /// Boots hosts without containerd. Its programs are in `/opt/lab/bin/runtime`.
    #[must_use]
    pub fn bare(masters: usize, workers: usize) -> Self {
        Self::made(masters, workers, Made::Bare)
    }

    fn made(masters: usize, workers: usize, how: Made) -> Self {
        let mut hosts = booted(masters + workers, how);
        let workers = hosts.split_off(masters);
        let balancer = Balancer::of(&hosts);
        let cluster = Self { masters: hosts, workers, balancer };
        cluster.equip_first();
        cluster
    }

    /// Gives the first master nodeinit, the configuration of all and the key that opens the others.
    pub fn equip_first(&self) {
        self.equip(self.first());
        let key = lab_directory().join("ssh_key");
        self.first().copy(&key.display().to_string(), "/root/.ssh/id_ed25519");
    }

    /// Gives a host nodeinit and the configuration of all; the first master has it from the start.
    pub fn equip(&self, host: &Host) {
        let (masters, workers): (Vec<_>, Vec<_>) = (self.masters.iter().collect(), self.workers.iter().collect());
        host.equip(&masters, &workers, &self.balancer.endpoint());
    }

    /// The first master.
    #[must_use]
    pub fn first(&self) -> &Host {
        &self.masters[0]
    }

    /// All hosts, masters first.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.masters.iter().chain(&self.workers)
    }

    /// Runs `nodeinit up` on the first master, which must succeed.
    #[track_caller]
    pub fn up(&self) -> Output {
        self.first().up()
    }
}
