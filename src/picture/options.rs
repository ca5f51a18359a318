//! Options for saving pictures.

use std::fs::Permissions;

/// Options for [`Picture::save_with`](crate::Picture::save_with).
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
    pub(super) closes_record: bool,
}

impl Default for SaveOptions {
    fn default() -> Self {
        Self {
            check: true,
            permissions: None,
            follow_symlinks: true,
            overwrite: true,
            closes_record: true,
        }
    }
}

impl SaveOptions {
    /// Sets whether the download must be a complete picture of a known
    /// [`FileKind`](crate::FileKind). The default is `true`.
    ///
    /// If `false`, the content is saved without a check.
    pub fn check(mut self, on: bool) -> Self {
        self.check = on;
        self
    }

    /// Sets the permissions of the saved file.
    ///
    /// By default, a replaced file keeps its permissions, and a new file gets the default
    /// permissions of new files: on Unix, 0o666 without the bits of the umask.
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.permissions = Some(permissions);
        self
    }

    /// Sets whether to follow a symbolic link at the path. The default is `true`.
    ///
    /// If `true`, the link is kept, and its target is replaced or created. If `false`, the link
    /// itself is replaced.
    pub fn follow_symlinks(mut self, on: bool) -> Self {
        self.follow_symlinks = on;
        self
    }

    /// Sets whether to replace an existing file. The default is `true`.
    ///
    /// If `false`, an existing file is an error of kind [`File`](crate::ErrorKind::File), even if
    /// it is created during the download.
    pub fn overwrite(mut self, on: bool) -> Self {
        self.overwrite = on;
        self
    }

    /// Sets whether saving closes the record of the submission in the
    /// [journal](crate::journal). The default is `true`.
    ///
    /// If `false`, the file is not the final one, for example because the program still renames it.
    /// The program applies [`Step::Saved`](crate::journal::Step::Saved) itself.
    pub fn closes_record(mut self, on: bool) -> Self {
        self.closes_record = on;
        self
    }
}
