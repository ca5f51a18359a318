//! Archives whose bytes depend on nothing but their files.

use std::io::Write;

use anyhow::{Context, Result};
use flate2::{Compression, write::GzEncoder};
use sha2::{Digest, Sha256};
use tar::{Builder, Header};

/// The time of all files, which is the one that npm gives to those of its packages.
const TIME: u64 = 499_162_500;

/// A file of an archive.
#[derive(Clone)]
pub struct File {
    pub path: String,
    content: Vec<u8>,
    is_program: bool,
}

impl File {
    pub fn new(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), content: content.into(), is_program: false }
    }

    pub fn program(path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        Self { is_program: true, ..Self::new(path, content) }
    }

    /// Moves the file to a folder.
    pub fn below(self, folder: &str) -> Self {
        Self { path: format!("{folder}{}", self.path), ..self }
    }
}

/// Returns a tar archive of files in a folder, which may be empty for none.
pub fn tar(folder: &str, files: &[File]) -> Result<Vec<u8>> {
    let mut archive = Builder::new(Vec::new());
    for file in files {
        let mut header = Header::new_ustar();
        header.set_size(file.content.len().try_into()?);
        header.set_mode(if file.is_program { 0o755 } else { 0o644 });
        header.set_mtime(TIME);
        let path = format!("{folder}{}", file.path);
        archive.append_data(&mut header, &path, &*file.content).context(path)?;
    }
    archive.into_inner().context("could not finish an archive")
}

pub fn gzip(bytes: &[u8]) -> Result<Vec<u8>> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes).context("could not compress an archive")?;
    encoder.finish().context("could not compress an archive")
}

/// Returns the SHA-256 of bytes in hexadecimal digits.
pub fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_the_same_every_time_and_keeps_the_mode_of_programs() {
        let files = [File::new("README.md", "text"), File::program("bin/kiln", "code")];
        let made = tar("package/", &files).unwrap();
        assert_eq!(sha256(&made), sha256(&tar("package/", &files).unwrap()));
        let mut archive = tar::Archive::new(&*made);
        let entries = archive.entries().unwrap().map(|entry| {
            let entry = entry.unwrap();
            (entry.path().unwrap().display().to_string(), entry.header().mode().unwrap())
        });
        let expected = [("package/README.md", 0o644), ("package/bin/kiln", 0o755)];
        assert_eq!(
            entries.collect::<Vec<_>>(),
            expected.map(|(path, mode)| (path.to_owned(), mode))
        );
    }
}
