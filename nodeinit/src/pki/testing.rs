//! Helpers of tests of keys and certificates.

use std::{
    io::Write,
    process::{Command, Stdio},
};

/// Runs the real openssl; it must succeed. Returns its standard output.
#[allow(clippy::disallowed_methods, reason = "tests ask the real openssl")]
pub(crate) fn openssl(arguments: &[&str], input: &[u8]) -> String {
    let mut child = Command::new("openssl")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl is installed");
    // It may exit without reading its input.
    let _ = child.stdin.take().unwrap().write_all(input);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "openssl {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}
