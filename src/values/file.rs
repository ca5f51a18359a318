//! Opens image files without blocking, and detects whether a file has changed or was replaced.

use std::{
    fs::{self, File, FileType, Metadata, OpenOptions},
    io,
    path::Path,
    time::SystemTime,
};

/// Identifies the state of a file, to detect changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) length: u64,
    /// `None` on file systems without modification times.
    modified: Option<SystemTime>,
    identity: (u64, u64),
}

impl Fingerprint {
    pub(crate) fn of(file: &File) -> io::Result<Self> {
        let metadata = file.metadata()?;
        Ok(Self {
            length: metadata.len(),
            modified: metadata.modified().ok(),
            identity: identity(&metadata),
        })
    }
}

/// Returns the device and the inode of a file, by which Unix identifies files.
fn identity(metadata: &Metadata) -> (u64, u64) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        (metadata.dev(), metadata.ino())
    }
    #[cfg(not(unix))]
    {
        let _ = metadata;
        (0, 0)
    }
}

/// Opens a regular file for reading. Refuses pipes and devices, because opening one can block
/// forever.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    must_be_regular(&fs::metadata(path)?)?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Another program may have replaced the file with a pipe since the check. With `O_NONBLOCK`,
    // opening a pipe does not block, and the second check refuses it.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    must_be_regular(&file.metadata()?)?;
    Ok(file)
}

fn must_be_regular(metadata: &Metadata) -> io::Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        Err(io::Error::other(format!("is {}, not a regular file", kind(metadata.file_type()))))
    }
}

fn kind(file_type: FileType) -> &'static str {
    if file_type.is_dir() {
        return "a directory";
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt;
        if file_type.is_fifo() {
            return "a pipe";
        }
        if file_type.is_socket() {
            return "a socket";
        }
        if file_type.is_block_device() || file_type.is_char_device() {
            return "a device";
        }
    }
    "a special file"
}

/// Returns whether the file at `path` is this open file, and not another one with the same name.
/// Windows does not let other programs remove or replace a file that is open, so a file at the path
/// is this one.
pub(crate) fn is_at(file: &File, path: &Path) -> bool {
    let same =
        |there: Metadata, here: Metadata| there.is_file() && identity(&there) == identity(&here);
    fs::metadata(path).is_ok_and(|there| file.metadata().is_ok_and(|here| same(there, here)))
}

#[cfg(test)]
mod tests {
    use std::{fs, io::Write};

    use super::{Fingerprint, open};

    #[test]
    fn a_fingerprint_changes_with_length_time_and_identity() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "one").unwrap();
        let fingerprint = || Fingerprint::of(&open(&path).unwrap()).unwrap();
        let original = fingerprint();
        assert_eq!(fingerprint(), original);

        let mut file = fs::File::options().append(true).open(&path).unwrap();
        file.write_all(b"!").unwrap();
        let original_time = original.modified.unwrap();
        file.set_modified(original_time).unwrap();
        assert_ne!(fingerprint(), original, "longer");

        file.set_len(3).unwrap();
        file.set_modified(original_time).unwrap();
        assert_eq!(fingerprint(), original);
        file.set_modified(original_time + std::time::Duration::from_secs(1)).unwrap();
        assert_ne!(fingerprint(), original, "later");
        drop(file);

        let other = folder.path().join("b");
        fs::write(&other, "one").unwrap();
        fs::File::options().append(true).open(&other).unwrap().set_modified(original_time).unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(fingerprint() == original, cfg!(not(unix)), "another file");
    }

    #[cfg(unix)]
    #[test]
    fn files_that_are_not_regular_are_refused_by_type() {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
        let refusal = |path: &std::path::Path| open(path).unwrap_err().to_string();
        assert_eq!(refusal(folder.path()), "is a directory, not a regular file");
        assert_eq!(refusal(&socket), "is a socket, not a regular file");
        assert_eq!(refusal("/dev/zero".as_ref()), "is a device, not a regular file");
    }
}
