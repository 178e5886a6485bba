//! The running programs of this machine, including those in containers.

use crate::host::files::Files;
use std::{
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

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
    // A process may end during the check.
    all(files)
        .iter()
        .any(|pid| files.read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| line.as_deref() == Some(&wanted[..])))
}

/// The processes that work, run a program or have a file open at or below a directory, such as `sleep (1234)`.
#[must_use]
pub fn users(files: &Files, directory: &Path) -> Vec<String> {
    let uses = |pid: &String| {
        let open = files.list(format!("/proc/{pid}/fd")).unwrap_or_default();
        let open = open.into_iter().map(|number| format!("fd/{number}"));
        let mut links = ["cwd", "exe", "root"].map(str::to_owned).into_iter().chain(open);
        let target = |link: String| files.link_target(Path::new(&format!("/proc/{pid}/{link}")));
        links.any(|link| target(link).is_some_and(|target| target.starts_with(directory)))
    };
    let name = |pid: String| {
        let name = files.read_text(format!("/proc/{pid}/comm")).ok().flatten().unwrap_or_default();
        format!("{} ({pid})", name.trim())
    };
    all(files).into_iter().filter(uses).map(name).collect()
}

/// The IDs of all processes.
fn all(files: &Files) -> Vec<String> {
    let mut names = files.list("/proc").unwrap_or_default();
    names.retain(|name| name.bytes().all(|b| b.is_ascii_digit()));
    names
}

/// Whether a process runs another program than the one that is now at this path. `false` where the kernel does not say.
#[must_use]
pub fn is_replaced(files: &Files, process: u32, path: &Path) -> bool {
    let file = |path: &Path| files.metadata(path).map(|found| (found.dev(), found.ino()));
    let running = PathBuf::from(format!("/proc/{process}/exe"));
    let differs = file(&running).ok().zip(file(path).ok()).is_some_and(|(running, present)| running != present);
    // In a system extension, each merge gives the same file another device.
    differs && !files.have_same_content(&running, path).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_that_was_replaced_is_another_file() {
        let machine = Files::of_machine();
        let own = std::env::current_exe().unwrap();
        let process = std::process::id();
        assert!(!is_replaced(&machine, process, &own));
        let copy = tempfile::NamedTempFile::new().unwrap();
        assert!(is_replaced(&machine, process, copy.path()));
        std::fs::copy(&own, copy.path()).unwrap();
        assert!(!is_replaced(&machine, process, copy.path()), "the same program in another file");
        assert!(!is_replaced(&machine, process, Path::new("/no/such/file")));
    }

    #[test]
    fn a_process_is_found_by_its_full_command_line() {
        let machine = Files::of_machine();
        let own: Vec<String> = std::env::args().collect();
        assert!(runs(&machine, &own));
        assert!(!runs(&machine, &own.iter().cloned().chain(["--no-such-flag".into()]).collect::<Vec<_>>()));
        assert!(!runs(&machine, &[]));
    }

    #[test]
    fn the_users_of_a_directory_are_found_by_their_open_files() {
        let dir = tempfile::tempdir().unwrap();
        let here = std::fs::canonicalize(dir.path()).unwrap();
        let own = format!("({})", std::process::id());
        let found = || users(&Files::of_machine(), &here).iter().any(|user| user.ends_with(&own));
        assert!(!found());
        let _file = std::fs::File::create(here.join("a")).unwrap();
        assert!(found());
    }
}
