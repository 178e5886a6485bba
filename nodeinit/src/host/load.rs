//! How busy this machine is, and how much memory it has.

use sysinfo::System;

/// The load and the memory of this machine.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// The average number of running processes over the last minute.
    pub one_minute: f64,
    /// The memory in use, in bytes.
    pub memory_used: u64,
    /// All memory, in bytes.
    pub memory_total: u64,
}

/// The load and the memory now; `None` where the kernel does not report them.
///
/// Of the real machine always: `sysinfo` knows no root prefix.
#[must_use]
pub fn load() -> Option<Load> {
    let mut system = System::new().ok()?;
    system.refresh_memory();
    let load = Load {
        one_minute: System::load_average().ok()?.one,
        memory_used: system.used_memory(),
        memory_total: system.total_memory(),
    };
    (load.memory_total > 0).then_some(load)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_has_memory_and_uses_some_of_it() {
        let load = load().unwrap();
        assert!(load.memory_used > 0 && load.memory_used < load.memory_total && load.one_minute >= 0.0, "{load:?}");
    }
}
