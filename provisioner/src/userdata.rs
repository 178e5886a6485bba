//! A machine's user-data.

use nodeinit_config::Loaded;
use std::{collections::BTreeMap, net::IpAddr};

/// What is known only when the resources are there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The balancer's address in the machines' subnet.
    pub balancer: Option<IpAddr>,
    /// The balancer's floating IP.
    pub balancer_floating: Option<IpAddr>,
    /// Each machine's address, by its name, as far as they are known.
    pub addresses: BTreeMap<String, IpAddr>,
    /// Each machine's floating IP, by its name.
    pub floating: BTreeMap<String, IpAddr>,
}

/// Why there is no user-data.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UserDataError {
    /// The configuration has no such machine.
    #[error("the configuration has no machine {0}")]
    Unknown(String),
    /// More than clouds are sure to take.
    #[error("the user-data of {name} has {size} bytes, and may have {LARGEST}")]
    TooLong {
        /// Whose.
        name: String,
        /// How long it is.
        size: usize,
    },
}

impl UserDataError {
    /// What to do about it.
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Unknown(_) => "name a machine of the configuration",
            Self::TooLong { .. } => "shorten the configuration, or bring parts of it in the image",
        }
    }
}

/// Sources: Nova takes 65,535 characters of Base64, EC2's metadata 16 KiB; DESIGN.md keeps to the latter.
pub const LARGEST: usize = 16 * 1024;

/// The user-data of the machine `name`, as cloud-config.
///
/// # Errors
/// Where there is no such machine, or the text is too long.
pub fn of(loaded: &Loaded, name: &str, _inputs: &Inputs) -> Result<String, UserDataError> {
    let cluster = &loaded.cluster;
    if !cluster.masters.iter().chain(&cluster.workers).any(|machine| machine.name == name) {
        return Err(UserDataError::Unknown(name.to_owned()));
    }
    let part: String = loaded.part_of_master().lines().map(|line| format!("    {line}\n")).collect();
    let text = format!(
        "#cloud-config\nwrite_files:\n- path: /etc/nodeinit/config.yaml\n  permissions: '0644'\n  content: |\n{part}"
    );
    match text.len() > LARGEST {
        true => Err(UserDataError::TooLong { name: name.to_owned(), size: text.len() }),
        false => Ok(text),
    }
}
