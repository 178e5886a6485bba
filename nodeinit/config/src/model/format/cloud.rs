//! What a cloud names or measures.

use super::Format;
use crate::{model::names::verdict, problem::Flaw};

/// A name or an ID in the cloud.
pub static CLOUD_NAME: Format = Format::new("a name or an id", "m1.medium", cloud_name).loose();
/// A UUID.
pub static UUID: Format = Format::new("a UUID", "1b4e28ba-2fa1-41d2-883f-0016d3cca427", |t| uuid(t).map(drop))
    .pattern("^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$");
/// A disk size.
pub static GIBIBYTES: Format =
    Format::new("a number of GiB", "20", |t| gibibytes(t).map(drop)).pattern("^[0-9]+$").loose();

fn cloud_name(text: &str) -> Result<(), Flaw> {
    let fits = (1..=255).contains(&text.len()) && text.trim() == text && !text.contains(char::is_control);
    verdict(fits, text, "a name or an id", "write the name or the ID in the cloud")
}

/// Parses a UUID; returns it in lower case.
pub(crate) fn uuid(text: &str) -> Result<String, Flaw> {
    let lengths = text.split('-').map(str::len).eq([8, 4, 4, 4, 12]);
    let digits = text.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit());
    verdict(lengths && digits, text, "a UUID", "use the output of `uuidgen`")?;
    Ok(text.to_ascii_lowercase())
}

pub(crate) fn gibibytes(text: &str) -> Result<u32, Flaw> {
    let wrong = || Flaw::new(format!("{text:?} is not a disk size"), "write a number of GiB from 1 to 65536");
    text.parse().ok().filter(|size| (1..=65_536).contains(size)).ok_or_else(wrong)
}
