//! The file with the bytes of a delivery that is not a complete picture.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{FileKind, Mutex};

/// The extension of the names of damaged files.
const ENDING: &str = "damaged";

/// The maximum number of names to try for a damaged file, if other files already have the first
/// names.
const MAX_NAMES: u32 = 100;

/// A file with the bytes of a delivery that is not a complete picture, returned by
/// [`Error::damaged`](crate::Error::damaged).
///
/// [`Picture::save`](crate::Picture::save) and its variants keep the file beside the path of the
/// picture. Otherwise the file is temporary, and is deleted when the last clone of this value is
/// dropped.
#[derive(Clone)]
pub struct Damaged {
    file: Arc<Mutex<Kept>>,
    kind: Option<FileKind>,
    bytes: u64,
}

/// Moves a temporary file to the directory of a path, under the first of the given names that no
/// other file has. Returns the new path.
type Keep = Box<dyn FnOnce(&Path, &mut dyn Iterator<Item = String>) -> io::Result<PathBuf> + Send>;

enum Kept {
    /// A temporary file, which is deleted when the last clone is dropped.
    Part(Keep),
    At(PathBuf),
    Lost,
}

impl Damaged {
    pub(crate) fn new(keep: Keep, kind: Option<FileKind>, bytes: u64) -> Self {
        Self { file: Arc::new(Mutex::new(Kept::Part(keep))), kind, bytes }
    }

    /// Returns the file format, detected from the first bytes. `None` if these are not the first
    /// bytes of a picture.
    ///
    /// For the batches.
    #[doc(hidden)]
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }

    /// Returns the size in bytes.
    ///
    /// For the batches.
    #[doc(hidden)]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the path of the file, or `None` if the file is temporary.
    pub fn path(&self) -> Option<PathBuf> {
        match &*self.file.lock() {
            Kept::At(path) => Some(path.clone()),
            Kept::Part(_) | Kept::Lost => None,
        }
    }

    /// Keeps the file in the directory of `picture`, the path at which the complete picture would
    /// have been saved. Returns the path of the kept file: for `fox.png`, this is
    /// `fox.png.damaged`, or `fox.png.2.damaged` if another file has that name. This method never
    /// replaces a file. If one of these files already has the same content, or if `keep` was called
    /// before, this method returns the path of the existing file.
    ///
    /// # Errors
    ///
    /// The file could not be flushed or renamed, for example because 100 other files have its
    /// names. Its bytes are lost.
    ///
    /// For the batches.
    #[doc(hidden)]
    pub fn keep(&self, picture: impl AsRef<Path>) -> io::Result<PathBuf> {
        let picture = picture.as_ref();
        let name = picture.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut names = (1..=MAX_NAMES).map(|number| match number {
            1 => format!("{name}.{ENDING}"),
            _ => format!("{name}.{number}.{ENDING}"),
        });
        let mut file = self.file.lock();
        let path = match std::mem::replace(&mut *file, Kept::Lost) {
            Kept::Part(keep) => keep(picture, &mut names)?,
            Kept::At(path) => path,
            Kept::Lost => return Err(io::Error::other("the bytes are lost")),
        };
        *file = Kept::At(path.clone());
        Ok(path)
    }

    /// Returns the path of the picture for which [`keep`](Self::keep) has kept a file, such as
    /// `fox.png` for `fox.png.2.damaged`. `None` if the name is not that of a kept file.
    #[doc(hidden)]
    pub fn picture_of(kept: impl AsRef<Path>) -> Option<PathBuf> {
        let kept = kept.as_ref();
        let name = kept.file_name()?.to_str()?.strip_suffix(ENDING)?.strip_suffix('.')?;
        let is_number = |end: &str| !end.is_empty() && end.bytes().all(|c| c.is_ascii_digit());
        let numbered = name.rsplit_once('.').filter(|(_, end)| is_number(end));
        Some(kept.with_file_name(numbered.map_or(name, |(name, _)| name)))
    }
}

impl fmt::Debug for Damaged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Damaged")
            .field("path", &self.path())
            .field("kind", &self.kind)
            .field("bytes", &self.bytes)
            .finish()
    }
}
