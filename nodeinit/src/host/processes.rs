//! The running programs of this machine, including those in containers.

use crate::host::files::Files;
use std::path::PathBuf;

/// Whether a process with exactly this command line is running, program name included.
///
/// The machine's `/proc` shows the processes of containers, so this tells whether a static pod runs with its current
/// flags.
#[must_use]
pub fn runs(files: &Files, command: &[String]) -> bool {
    // A kernel thread has an empty command line.
    if command.is_empty() {
        return false;
    }
    let wanted: Vec<u8> = command.iter().flat_map(|part| part.bytes().chain([0])).collect();
    let Ok(entries) = files.list("/proc") else { return false };
    entries
        .iter()
        .filter(|name| name.bytes().all(|b| b.is_ascii_digit()))
        // A process may end during the check.
        .any(|pid| files.read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.as_deref() == Some(&wanted[..])))
}

/// The program of a process; `None` where there is no such process, or the kernel does not say.
#[must_use]
pub fn program(files: &Files, process: u32) -> Option<PathBuf> {
    files.link_target(format!("/proc/{process}/exe").as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_found_by_its_full_command_line() {
        let machine = Files::of_machine();
        let own: Vec<String> = std::env::args().collect();
        assert!(runs(&machine, &own));
        assert!(!runs(&machine, &own.iter().cloned().chain(["--no-such-flag".into()]).collect::<Vec<_>>()));
        assert!(!runs(&machine, &[]));
    }
}
