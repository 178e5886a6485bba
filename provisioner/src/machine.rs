//! A machine as the cloud shows it: its console, and the SSH host keys that it wrote there.

use crate::{
    error::{ApiError, Error},
    openstack::{Client, Method, Service},
    resources::Found,
};
use nodeinit_config::format::HOST_KEY;
use serde_json::json;

/// What a server has written to its serial console so far.
///
/// # Errors
/// As Nova says.
pub async fn console(client: &Client, server: &Found) -> Result<String, Error> {
    let path = format!("/servers/{}/action", server.id);
    // An action that changes nothing, so that it may be asked for again.
    let body = json!({ "os-getConsoleOutput": {} });
    let failed = |source: ApiError| ApiError::Console { server: server.part.to_string(), source: Box::new(source) };
    let answer = client.send(Method::POST, Service::Compute, &path, Some(&body)).await.map_err(failed)?;
    Ok(answer["output"].as_str().unwrap_or_default().to_owned())
}

const BEGIN: &str = "-----BEGIN SSH HOST KEY KEYS-----";
const END: &str = "-----END SSH HOST KEY KEYS-----";

/// The host keys that cloud-init wrote to the console, as type and base64; the last block counts. Empty: none yet.
pub fn host_keys(console: &str) -> Vec<String> {
    let Some((_, block)) = console.rsplit_once(BEGIN) else { return Vec::new() };
    let Some((block, _)) = block.split_once(END) else { return Vec::new() };
    let key = |line: &str| {
        // The kernel may write into a line; such a line is no key.
        let line = line.trim();
        let mut words = line.split_whitespace();
        let key = format!("{} {}", words.next()?, words.next()?);
        HOST_KEY.accepts(&key).then_some(key)
    };
    block.lines().filter_map(key).collect()
}

#[cfg(test)]
mod tests {
    use super::host_keys;

    #[test]
    fn keys_are_read_from_the_console() {
        let key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo";
        let block = |key: &str| {
            format!(
                "boot\r\n-----BEGIN SSH HOST KEY KEYS-----\r\n{key} root@m1\r\n-----END SSH HOST KEY KEYS-----\r\nlogin:"
            )
        };
        assert_eq!(host_keys(&block(key)), [key]);
        // A machine that was created again has written twice.
        assert_eq!(host_keys(&(block("ssh-ed25519 AAAAold") + &block(key))), [key]);
        assert!(
            host_keys("boot").is_empty() && host_keys("-----BEGIN SSH HOST KEY KEYS-----\nssh-ed25519 AAAA").is_empty()
        );
        assert!(host_keys(&block("[ 1.2] usb 1-1: new device")).is_empty());
    }
}
