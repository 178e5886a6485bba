//! What a machine is sent.

use bytes::Bytes;
use std::{fmt, fs::File, io, os::unix::fs::FileExt, sync::Arc};

/// What is sent in one piece, in bytes. Ten of them may wait in a connection, and there are many connections at once: with whole
/// packets of 32 KiB, fifty uploads took 18 MB of memory. With 8 KiB a server takes twice as long to receive them.
const PIECE: u64 = 16 << 10;

/// The content of a file on another machine.
#[derive(Clone)]
pub enum Content {
    /// From memory.
    Bytes(Bytes),
    /// The beginning of a file of this machine, which is read piece by piece.
    File {
        /// The open file.
        file: Arc<File>,
        /// How much of it, in bytes.
        length: u64,
    },
}

impl Content {
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes.len() as u64,
            Self::File { length, .. } => *length,
        }
    }

    /// The piece that begins at `offset`; at the end, nothing. Reads a file on the caller's thread: what is sent is in the page
    /// cache, as the program that runs is.
    pub(super) fn piece(&self, offset: u64) -> io::Result<Bytes> {
        let end = self.len().min(offset + PIECE);
        match self {
            Self::Bytes(bytes) => Ok(bytes.slice(offset as usize..end as usize)),
            Self::File { file, .. } => {
                let mut piece = vec![0; (end - offset) as usize];
                file.read_exact_at(&mut piece, offset)?;
                Ok(piece.into())
            }
        }
    }
}

/// Without the content: it may be secret.
impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content of {} bytes", self.len())
    }
}

impl From<Bytes> for Content {
    fn from(bytes: Bytes) -> Self {
        Self::Bytes(bytes)
    }
}

impl From<Vec<u8>> for Content {
    fn from(bytes: Vec<u8>) -> Self {
        Self::Bytes(bytes.into())
    }
}
