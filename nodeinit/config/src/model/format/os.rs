//! Settings of an operating system.

use super::{Format, absolute, host_key, user};
use crate::{model::names::verdict, problem::Flaw};

/// A time zone.
pub static TIME_ZONE: Format =
    Format::new("a time zone", "Europe/Amsterdam", time_zone).pattern("^[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$");
/// A locale.
pub static LOCALE: Format =
    Format::new("a locale", "C.UTF-8", locale).pattern(r"^[A-Za-z]+(_[A-Z]{2})?(\.[A-Za-z0-9-]+)?(@[a-z]+)?$");
/// A keyboard layout.
pub static KEYMAP: Format = Format::new("a keyboard layout", "us", keymap).pattern("^[a-z][A-Za-z0-9_-]*$");
/// Permission bits.
pub static FILE_MODE: Format =
    Format::new("a file mode", "0644", |t| file_mode(t).map(drop)).pattern("^0?[0-7]{3,4}$").loose();
/// The owner of a file.
pub static OWNER: Format =
    Format::new("a user or user:group", "daemon:adm", owner).pattern("^[a-z_][a-z0-9_-]*(:[a-z_][a-z0-9_-]*)?$");
/// The hash of a password, as in `/etc/shadow`.
pub static PASSWORD_HASH: Format = Format::new(
    "a password hash",
    "$6$abcdefgh$X1aN5l6W0lqhYcmpx1mZpZQUjNQ9hJ3hFTfDAVnSPdm0M4pGbvVxY4m5gNfOzCzGJtLrG2pQ9kd3B8hVnC8jX0",
    password_hash,
)
.pattern(r"^\$(5|6|y|gy|2[aby])\$[A-Za-z0-9./$=,]+$")
.secret();
/// A line of an SSH public key, with its comment.
pub static AUTHORIZED_KEY: Format = Format::new(
    "an SSH public key",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIKSJP7bvRVpAlmJMb4lLdWVlqsA4FxgYDbSw1LRxlPyo alice",
    authorized_key,
);
/// An option of sshd.
pub static SSHD_OPTION: Format =
    Format::new("an option of sshd", "PasswordAuthentication", sshd_option).pattern("^[A-Z][A-Za-z0-9]+$");
/// A package of a distribution.
pub static PACKAGE: Format = Format::new("a package", "chrony", package).pattern("^[A-Za-z0-9][A-Za-z0-9.+_-]*$");
/// A systemd unit.
pub static UNIT_NAME: Format = Format::new("the name of a unit", "example.service", unit_name)
    .pattern(r"^[A-Za-z0-9:_.@-]+\.(service|socket|timer|mount|path|target|slice)$");
/// A size, as systemd reads it.
pub static DATA_SIZE: Format = Format::new("a size", "1G", data_size).pattern("^[0-9]+[KMGT]$");
/// A number of open files.
pub static NUMBER: Format =
    Format::new("a number from 1024 to 1073741816", "1048576", |t| number(t).map(drop)).pattern("^[0-9]+$").loose();
/// Any text.
pub static ANY_TEXT: Format = Format::new("a text", "hello", |_| Ok(())).loose();
/// A text with placeholders.
pub static TEMPLATE: Format = Format::new("a text", "this is ${name}", template).loose();
/// A file of a machine, or a URL.
pub static FILE_SOURCE: Format =
    Format::new("an absolute path or an HTTP(S) URL", "https://files.example.org/agent.conf", file_source);

/// The placeholders of a template.
pub const PLACEHOLDERS: [&str; 5] = ["name", "fullName", "address", "role", "cluster"];

fn is_word(text: &str, more: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}

fn time_zone(text: &str) -> Result<(), Flaw> {
    let fits = text.starts_with(|c: char| c.is_ascii_alphabetic()) && text.split('/').all(|part| is_word(part, "_+-"));
    verdict(
        fits,
        text,
        "a time zone",
        "write a name that `timedatectl list-timezones` prints, such as Europe/Amsterdam or UTC",
    )
}

fn locale(text: &str) -> Result<(), Flaw> {
    let fits = is_word(text, "_.@-") && text.starts_with(|c: char| c.is_ascii_alphabetic());
    verdict(fits, text, "a locale", "write one such as C.UTF-8 or en_GB.UTF-8")
}

fn keymap(text: &str) -> Result<(), Flaw> {
    let fits = is_word(text, "_-") && text.starts_with(|c: char| c.is_ascii_lowercase());
    verdict(fits, text, "a keyboard layout", "write one such as us or de")
}

pub(crate) fn file_mode(text: &str) -> Result<u32, Flaw> {
    let mode = u32::from_str_radix(text, 8).ok().filter(|mode| *mode <= 0o7777);
    let wrong = || Flaw::new(format!("{text:?} is not a file mode"), "write 3 or 4 octal digits, such as 0644");
    mode.filter(|_| (3..=4).contains(&text.len()) && !text.starts_with('+')).ok_or_else(wrong)
}

fn owner(text: &str) -> Result<(), Flaw> {
    let fits = text.split(':').count() <= 2 && text.split(':').all(|name| user(name).is_ok());
    verdict(fits, text, "a user or user:group", "write one such as daemon or daemon:adm")
}

fn password_hash(text: &str) -> Result<(), Flaw> {
    // The value may be a password: the message does not repeat it.
    let kind = ["$5$", "$6$", "$y$", "$gy$", "$2a$", "$2b$", "$2y$"].iter().any(|kind| text.starts_with(kind));
    let parts = text.split('$').skip(1).all(|part| is_word(part, "./=,"));
    if kind && parts && text.len() > 30 {
        return Ok(());
    }
    Err(Flaw::new("not a password hash", "write the output of `openssl passwd -6`, never the password itself"))
}

fn authorized_key(text: &str) -> Result<(), Flaw> {
    host_key(text).map(drop).map_err(|flaw| {
        Flaw::new(
            flaw.what.replace("host key", "public key"),
            "write the line of a .pub file, such as ~/.ssh/id_ed25519.pub",
        )
    })
}

fn sshd_option(text: &str) -> Result<(), Flaw> {
    let fits = is_word(text, "") && text.starts_with(|c: char| c.is_ascii_uppercase());
    verdict(fits, text, "an option of sshd", "write it as sshd_config(5) does, such as PasswordAuthentication")
}

fn package(text: &str) -> Result<(), Flaw> {
    let fits = is_word(text, ".+_-") && text.starts_with(|c: char| c.is_ascii_alphanumeric());
    verdict(fits, text, "a package", "write the name that the package manager uses, such as chrony")
}

fn unit_name(text: &str) -> Result<(), Flaw> {
    const TYPES: [&str; 7] = ["service", "socket", "timer", "mount", "path", "target", "slice"];
    let fits = is_word(text, ":_.@-")
        && text
            .rsplit_once('.')
            .is_some_and(|(name, kind)| !name.is_empty() && !name.starts_with('.') && TYPES.contains(&kind));
    verdict(fits, text, "the name of a unit", "write the name with its type, such as example.service")
}

fn data_size(text: &str) -> Result<(), Flaw> {
    let digits = text.strip_suffix(['K', 'M', 'G', 'T']).unwrap_or_default();
    let fits = digits.parse::<u64>().is_ok_and(|size| size > 0) && !digits.starts_with('+');
    verdict(fits, text, "a size", "write a number and K, M, G or T, such as 500M")
}

pub(crate) fn number(text: &str) -> Result<u64, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a number from 1024 to 1073741816"), "write one such as 1048576");
    text.parse().ok().filter(|number| (1024..=1_073_741_816).contains(number)).ok_or_else(wrong)
}

pub(crate) fn template(text: &str) -> Result<(), Flaw> {
    for part in text.split("${").skip(1) {
        let name = part.split_once('}').map(|(name, _)| name);
        if !name.is_some_and(|name| PLACEHOLDERS.contains(&name)) {
            let known = PLACEHOLDERS.map(|name| format!("${{{name}}}")).join(", ");
            let name: String = name.unwrap_or(part).chars().take(40).collect();
            return Err(Flaw::new(
                format!("unknown placeholder `${{{name}}}`"),
                format!("known placeholders: {known}"),
            ));
        }
    }
    Ok(())
}

fn file_source(text: &str) -> Result<(), Flaw> {
    let is_url = (text.starts_with("http://") || text.starts_with("https://"))
        && !text.contains(|c: char| c.is_whitespace() || c.is_control() || c == '@');
    let fits = is_url || absolute(text).is_ok();
    verdict(
        fits,
        text,
        "an absolute path or an HTTP(S) URL without a password",
        "write one such as https://files.example.org/agent.conf",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_values_are_refused() {
        for (format, wrong) in [
            (&TIME_ZONE, &["", "Europe/", "/etc/passwd", "../x", "Europe Berlin"][..]),
            (&LOCALE, &["", "en GB", "$(id)"]),
            (&KEYMAP, &["", "US us", "-x"]),
            (&FILE_MODE, &["", "8", "0888", "rw-", "644444", "+644", "77"]),
            (&OWNER, &["", "a:b:c", "Root", "0"]),
            (&PASSWORD_HASH, &["", "secret", "$1$abc$def", "$6$short", "$6$a:b$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]),
            (&AUTHORIZED_KEY, &["", "ssh-ed25519", "ssh-dss AAAA"]),
            (&SSHD_OPTION, &["", "passwordAuthentication", "Permit Root"]),
            (&PACKAGE, &["", "-y", "a b", "a;b"]),
            (&UNIT_NAME, &["", "example", ".service", "../x.service", "a.conf"]),
            (&DATA_SIZE, &["", "1", "G", "0G", "1GB", "-1M"]),
            (&NUMBER, &["", "10", "unlimited", "99999999999"]),
            (&TEMPLATE, &["${host}", "${name", "a ${}"]),
            (&FILE_SOURCE, &["", "relative", "ftp://x", "https://a b", "https://user:token@host/x"]),
        ] {
            for text in wrong {
                assert!(!format.accepts(text), "{}: {text:?}", format.name);
            }
        }
        let flaw = PASSWORD_HASH.check("hunter2").unwrap_err();
        assert!(!flaw.what.contains("hunter2"));
        assert_eq!(file_mode("0640"), Ok(0o640));
        assert!(TEMPLATE.accepts("${name} is ${role} of ${cluster}, $HOME"));
    }
}
