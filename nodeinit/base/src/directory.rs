//! The names in a directory.

use std::{fs, io, path::Path};

/// Returns the sorted names of the files and directories in a directory.
///
/// # Errors
/// If it cannot be read.
pub fn names(directory: &Path) -> io::Result<Vec<String>> {
    let names = fs::read_dir(directory)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        let directory = tempfile::tempdir().unwrap();
        for name in ["b", "a", "c"] {
            fs::create_dir(directory.path().join(name)).unwrap();
        }
        assert_eq!(names(directory.path()).unwrap(), ["a", "b", "c"]);
        assert!(names(&directory.path().join("d")).is_err());
    }
}
