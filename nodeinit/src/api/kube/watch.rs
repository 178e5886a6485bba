//! The events of a watch.
//!
//! Source: Kubernetes API concepts, "Efficient detection of changes".

use super::{error::ApiError, types::Status};
use crate::api::connection::HttpError;
use http_body_util::BodyExt;
use hyper::{StatusCode, body::Incoming};
use serde::{Deserialize, de::DeserializeOwned};
use std::{net::SocketAddr, ops::ControlFlow};

/// An object in etcd has at most 1.5 MiB; no event and no single object is much longer. In bytes.
pub const LONGEST_OBJECT: usize = 4 << 20;

/// What a watch reports of an object.
#[derive(Debug, PartialEq, Eq)]
pub enum Event<O> {
    /// It is there: it was when the watch began, or has been added or changed since.
    Present(O),
    /// It was deleted; its last state.
    Deleted(O),
}

/// Reads a watch of `request` from the server at `address` until `look` says `Break`. `None`: the server ended it.
///
/// Only whole lines count: a watch may end in the middle of one. An event that is too long or cannot be read is left out: a client that may
/// write one object must not stop the others' events.
pub(super) async fn read<O: DeserializeOwned, T>(
    mut body: Incoming,
    address: SocketAddr,
    request: &str,
    mut look: impl FnMut(Event<O>) -> ControlFlow<T>,
) -> Result<Option<T>, ApiError> {
    let broke = |source| HttpError::Exchange { address, source };
    let mut lines = Lines::default();
    while let Some(frame) = body.frame().await {
        lines.extend(&frame.map_err(broke)?.into_data().unwrap_or_default());
        while let Some(line) = lines.next() {
            let Some(event) = event(&line, request)? else { continue };
            if let ControlFlow::Break(found) = look(event) {
                return Ok(Some(found));
            }
        }
    }
    Ok(None)
}

/// A line of a watch.
#[derive(Deserialize)]
struct Line<O> {
    object: O,
}

/// The type of a line's object.
#[derive(Deserialize)]
struct Type<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
}

/// The event of a line; none where it cannot be read, or is a bookmark, which reports no object.
fn event<O: DeserializeOwned>(line: &[u8], request: &str) -> Result<Option<Event<O>>, ApiError> {
    let Ok(Type { kind }) = serde_json::from_slice(line) else { return Ok(None) };
    let object = || serde_json::from_slice::<Line<O>>(line).ok().map(|line| line.object);
    match kind {
        "ADDED" | "MODIFIED" => Ok(object().map(Event::Present)),
        "DELETED" => Ok(object().map(Event::Deleted)),
        "ERROR" => {
            let status = serde_json::from_slice::<Line<Status>>(line).map(|line| line.object).unwrap_or_default();
            Err(ApiError::Refused {
                status: StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
                request: request.to_owned(),
                message: status.message.unwrap_or_default(),
            })
        }
        _ => Ok(None),
    }
}

/// Splits what comes into lines; one that is longer than [`LONGEST_OBJECT`] is left out.
#[derive(Default)]
struct Lines {
    text: Vec<u8>,
    /// The line that `text` ends with began before it, and is too long.
    too_long: bool,
}

impl Lines {
    fn extend(&mut self, bytes: &[u8]) {
        self.text.extend_from_slice(bytes);
    }

    /// The next line that is whole; called until there is none.
    fn next(&mut self) -> Option<Vec<u8>> {
        while let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
            let line = self.text.drain(..=end).collect();
            if !std::mem::take(&mut self.too_long) {
                return Some(line);
            }
        }
        if self.text.len() > LONGEST_OBJECT {
            self.too_long = true;
        }
        if self.too_long {
            self.text.clear();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn an_event_that_is_too_long_hides_no_other() {
        let mut lines = Lines::default();
        let mut seen = Vec::new();
        let large = vec![b'x'; LONGEST_OBJECT];
        for part in [b"first\nlar", large.as_slice(), b"ge", &large, b"\nsecond\nth", b"ird\n"] {
            lines.extend(part);
            assert!(lines.text.len() <= 2 * LONGEST_OBJECT);
            seen.extend(std::iter::from_fn(|| lines.next()));
        }
        assert_eq!(seen, [b"first\n".to_vec(), b"second\n".to_vec(), b"third\n".to_vec()]);
    }

    #[test]
    fn of_an_event_only_the_typed_fields_are_read() {
        #[derive(Debug, Deserialize, PartialEq, Eq)]
        struct Named {
            name: String,
        }
        // Deeper than serde_json reads a value.
        let deep = format!("{}1{}", r#"{"a":"#.repeat(1000), "}".repeat(1000));
        let line = format!(r#"{{"type":"ADDED","object":{{"name":"n","managedFields":{deep}}}}}"#);
        let found = event::<Named>(line.as_bytes(), "").unwrap();
        assert_eq!(found, Some(Event::Present(Named { name: "n".into() })));
        assert_eq!(event::<Value>(line.as_bytes(), "").unwrap(), None);
    }
}
