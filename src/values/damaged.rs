//! The bytes of a delivery that is not a whole picture.

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{FileKind, Mutex};

/// The ending of the names of damaged files.
const ENDING: &str = "damaged";

/// The number of names for a damaged file, if other files have the first ones.
const MAX_NAMES: u32 = 100;

/// The bytes of a delivery that is not a whole picture, in a file; see
/// [`Error::damaged`](crate::Error::damaged).
#[derive(Clone)]
pub struct Damaged {
    file: Arc<Mutex<Kept>>,
    kind: Option<FileKind>,
    bytes: u64,
}

/// Gives a temporary file the first of these names that no other file has, next to a path.
type Keep = Box<dyn FnOnce(&Path, &mut dyn Iterator<Item = String>) -> io::Result<PathBuf> + Send>;

enum Kept {
    /// A temporary file, which is deleted with the last clone.
    Part(Keep),
    At(PathBuf),
    Lost,
}

impl Damaged {
    pub(crate) fn new(keep: Keep, kind: Option<FileKind>, bytes: u64) -> Self {
        Self { file: Arc::new(Mutex::new(Kept::Part(keep))), kind, bytes }
    }

    /// Returns the file format, detected from the first bytes. `None` if they are not those of a
    /// picture.
    pub fn kind(&self) -> Option<FileKind> {
        self.kind
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the path of the file, unless it is a temporary one.
    pub fn path(&self) -> Option<PathBuf> {
        match &*self.file.lock() {
            Kept::At(path) => Some(path.clone()),
            Kept::Part(_) | Kept::Lost => None,
        }
    }

    /// Keeps the file next to `picture`, the path at which the whole picture would be saved, and
    /// returns its path: `fox.png.damaged`, or `fox.png.2.damaged` if another file has that name.
    /// Never replaces a file. Does nothing if the file is kept already.
    ///
    /// # Errors
    ///
    /// The file could not be flushed or renamed. Its bytes are lost.
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

    /// Returns the path of the picture next to which [`keep`](Self::keep) has kept a file: that of
    /// `fox.png` for `fox.png.2.damaged`. `None` for other files.
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
