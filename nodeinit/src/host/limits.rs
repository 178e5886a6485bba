//! The limits of this process.

use nix::sys::resource::{Resource, getrlimit, setrlimit};

/// Limit of open files for a run that serves artifacts to many machines: three for each connection, plus those of the run itself.
/// A login shell and systemd set 1024, which a process may raise.
const OPEN_FILES: u64 = 4096;

/// Raises the number of open files to [`OPEN_FILES`], or as far as this process may.
pub fn raise_open_files() {
    let Ok((soft, hard)) = getrlimit(Resource::RLIMIT_NOFILE) else { return };
    if soft < OPEN_FILES {
        // If this fails, a command that needs more names the file that it cannot open.
        let _ = setrlimit(Resource::RLIMIT_NOFILE, OPEN_FILES.min(hard), hard);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_of_a_login_shell_is_raised() {
        let (_, hard) = getrlimit(Resource::RLIMIT_NOFILE).unwrap();
        setrlimit(Resource::RLIMIT_NOFILE, 1024, hard).unwrap();
        raise_open_files();
        assert_eq!(getrlimit(Resource::RLIMIT_NOFILE).unwrap().0, OPEN_FILES.min(hard));
    }
}
