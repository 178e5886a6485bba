//! The lab hosts of one cluster.

use crate::{
    host::{Balancer, Host, Made, booted, lab_directory},
    output::Output,
};

/// Freshly booted hosts, and a load balancer in front of the masters. The first master has nodeinit, the cluster configuration
/// and the SSH key for the other hosts. Dropping it removes the hosts.
#[derive(Debug)]
pub struct Cluster {
    /// Dropped before the first master, whose name determines its port: another test may take that name immediately.
    balancer: Balancer,
    /// The masters, the first master first.
    pub masters: Vec<Host>,
    /// The workers.
    pub workers: Vec<Host>,
}

impl Cluster {
    /// Boots hosts with containerd and no images in it.
    #[must_use]
    pub fn fresh(masters: usize, workers: usize) -> Self {
        Self::made(masters, workers, Made::Plain)
    }

    /// Boots hosts with all images in containerd.
    #[must_use]
    pub fn with_images(masters: usize, workers: usize) -> Self {
        Self::made(masters, workers, Made::WithImages)
    }

    /// Boots hosts without containerd, whose programs are in `/opt/lab/bin/runtime`.
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

    /// Copies nodeinit, the cluster configuration and the SSH key for the other hosts to the first master.
    pub fn equip_first(&self) {
        self.equip(self.first());
        let key = lab_directory().join("ssh_key");
        self.first().copy(&key.display().to_string(), "/root/.ssh/id_ed25519");
    }

    /// Copies nodeinit and the cluster configuration to a host other than the first master.
    pub fn equip(&self, host: &Host) {
        let (masters, workers): (Vec<_>, Vec<_>) = (self.masters.iter().collect(), self.workers.iter().collect());
        host.equip(&masters, &workers, &self.balancer.endpoint());
    }

    /// Returns the first master.
    #[must_use]
    pub fn first(&self) -> &Host {
        &self.masters[0]
    }

    /// Returns all hosts, masters first.
    pub fn hosts(&self) -> impl Iterator<Item = &Host> {
        self.masters.iter().chain(&self.workers)
    }

    /// Runs `nodeinit up` on the first master, which must succeed.
    #[track_caller]
    pub fn up(&self) -> Output {
        self.first().up()
    }
}
