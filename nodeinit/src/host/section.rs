//! A section of a file, which is read like a file.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

/// A complete file, or a part of it such as a member of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The file.
    pub file: PathBuf,
    /// Its offset.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

impl Section {
    /// Returns a complete file with its current length.
    ///
    /// # Errors
    /// If it does not exist.
    pub fn whole(file: PathBuf) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, offset: 0, length })
    }

    /// Opens it at its start.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(&self) -> io::Result<io::Take<File>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.offset))?;
        Ok(file.take(self.length))
    }
}
