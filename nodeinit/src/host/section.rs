//! A part of a file that is read as if it were a file of its own.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::PathBuf,
};

/// All of a file, or a part of it such as a member of a bundle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The file.
    pub file: PathBuf,
    /// Where the part begins.
    pub offset: u64,
    /// Its length.
    pub length: u64,
}

impl Section {
    /// All of a file, as long as it is now.
    ///
    /// # Errors
    /// If it is not there.
    pub fn whole(file: PathBuf) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, offset: 0, length })
    }

    /// Opens it at its beginning.
    ///
    /// # Errors
    /// If the file cannot be opened.
    pub fn open(&self) -> io::Result<io::Take<File>> {
        let mut file = File::open(&self.file)?;
        file.seek(SeekFrom::Start(self.offset))?;
        Ok(file.take(self.length))
    }
}
