//! Slots, which limit the tests that boot hosts at the same time.

use crate::host::lock_directory;
use std::{fs::File, path::PathBuf, thread, time::Duration};

/// The number of tests that may boot hosts at the same time on this machine.
pub(crate) const SLOTS: usize = 2;

/// The right to boot hosts on this machine, across all processes and checkouts. It ends when it is dropped or the process ends.
#[derive(Debug)]
pub(crate) struct Slot {
    _held: Vec<File>,
}

impl Slot {
    /// Waits for a slot, or for the whole machine.
    ///
    /// A waiting process keeps its place in the queue, so a test that needs the whole machine gets it when the earlier tests end.
    pub(crate) fn take(whole_machine: bool) -> Self {
        let turn = open("slot-turn");
        turn.lock().unwrap();
        let slots = (1..=SLOTS).map(|number| open(&format!("slot-{number}")));
        let mut slots: Vec<File> = slots.collect();
        if whole_machine {
            slots.iter().for_each(|slot| slot.lock().unwrap());
            return Self { _held: slots };
        }
        loop {
            if let Some(free) = slots.iter().position(|slot| slot.try_lock().is_ok()) {
                return Self { _held: vec![slots.swap_remove(free)] };
            }
            thread::sleep(Duration::from_millis(100));
        }
    }
}

fn open(name: &str) -> File {
    let path: PathBuf = lock_directory().join(name);
    File::create(path).unwrap()
}
