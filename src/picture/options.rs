//! How to save a picture.

use std::fs::Permissions;

/// How [`Picture::save_with`](crate::Picture::save_with) saves a picture.
///
/// ```
/// let options = imagekiln::SaveOptions::default().overwrite(false);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct SaveOptions {
    pub(super) check: bool,
    pub(super) permissions: Option<Permissions>,
    pub(super) follow_symlinks: bool,
    pub(super) overwrite: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self { check: true, permissions: None, follow_symlinks: true, overwrite: true }
    }
}

impl SaveOptions {
    /// Whether the download must be a whole picture of a known [`FileKind`](crate::FileKind); on by
    /// default. If it is off, whatever arrived is saved.
    pub fn check(mut self, on: bool) -> Self {
        self.check = on;
        self
    }

    /// The permissions of the saved file. By default an existing file's are kept, and a new file
    /// gets those of any new file: on Unix, 0o666 without the bits of the umask.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Whether a symbolic link at the path is followed; on by default. The link stays, and the file
    /// that it points to is replaced, or created if there is none. If it is off, the link itself is
    /// replaced.
    pub fn follow_symlinks(mut self, on: bool) -> Self {
        self.follow_symlinks = on;
        self
    }

    /// Whether an existing file is replaced; on by default. If it is off, an existing file is an
    /// error of kind [`File`](crate::ErrorKind::File), also if it is created while the picture is
    /// being fetched.
    pub fn overwrite(mut self, on: bool) -> Self {
        self.overwrite = on;
        self
    }
}
