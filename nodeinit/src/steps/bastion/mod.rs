//! The steps of a bastion: firewall, IP forwarding, SSH server, DNS and NTP for the private network; and their undo code.

mod firewall;
mod forwarding;
mod restore;
mod service;
mod sshd;

pub use firewall::Rules;
pub use forwarding::Forwarding;
pub use restore::Restore;
pub use service::{DNS, NTP};
pub use sshd::Harden;

pub(super) use firewall::interfaces;
pub(super) use service::obstacle as service_obstacle;
pub(super) use sshd::obstacle as sshd_obstacle;

use crate::{
    context::Context,
    engine::error::{Exit, StepError},
};
use nodeinit_config::cluster::Bastion;

/// Returns the section `bastion`, without which no machine has this role.
fn section(cx: &Context) -> Result<&Bastion, StepError> {
    let none = || StepError::new("the configuration has no bastion").exit(Exit::Defect);
    cx.cluster.bastion.as_ref().ok_or_else(none)
}

/// The test helper: a bastion `m1` between `eth0` and `eth1`.
#[cfg(test)]
mod testing {
    use crate::{context::Context, render::HostFacts};
    use std::sync::Arc;

    /// `more` continues the section `bastion`.
    #[allow(clippy::disallowed_methods, reason = "tests create the files of a fake kernel")]
    pub(super) fn bastion(more: &str) -> (tempfile::TempDir, Context) {
        let config = format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nmasters: []\n\
             bastion: {{name: m1, network: 10.0.0.0/24{more}}}\n"
        );
        let (dir, mut cx) = crate::context::testing::context_of(&config);
        cx.facts = Arc::new(HostFacts { interface: Some("eth1".into()), ..HostFacts::default() });
        for (path, content) in [
            (
                "proc/net/route",
                "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\t\tMTU\tWindow\tIRTT\n\
                 eth2\t00000000\t0100A8C0\t0003\t0\t0\t900\t00000000\t0\t0\t0\n\
                 eth0\t00000000\t0100A8C0\t0003\t0\t0\t100\t00000000\t0\t0\t0\n\
                 eth1\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\t0\t0\t0\n",
            ),
            ("proc/sys/net/ipv4/ip_forward", "0\n"),
        ] {
            let real = dir.path().join(path);
            std::fs::create_dir_all(real.parent().unwrap()).unwrap();
            std::fs::write(real, content).unwrap();
        }
        (dir, cx)
    }
}
