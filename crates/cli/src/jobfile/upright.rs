//! Copies of images that are stored turned, which jobs send as viewers show them.

use std::{
    collections::{HashMap, HashSet},
    fs, io,
    path::{Path, PathBuf},
};

use super::fields::Converted;
use crate::{
    files::directory::write_private,
    making::{checks::HEADER, upright::turned_upright},
};
use imagekiln::{FileKind, ImageInput, Operation, Request};
use imagekiln_label::sha256;

/// Where the copies of images are that are stored turned. The request of a job has the path of a
/// copy, whose name is the SHA-256 digest of the original: a job is the same each time its file is
/// read, and processes can share the folder. A copy is needed until the jobs that send it have
/// ended.
#[derive(Debug, Clone)]
pub struct Upright {
    /// Created with the first copy.
    pub folder: PathBuf,
    /// Checks jobs, but writes no copies.
    pub is_dry_run: bool,
}

/// A copy of an image.
#[derive(Debug, Clone)]
struct Copy {
    /// Absolute.
    path: PathBuf,
    /// Its beginning, if it is not written.
    head: Option<ImageInput>,
}

/// The copies of the images of a list.
#[derive(Debug, Default)]
pub struct Copies {
    /// By the path of the original, and whether it is a mask: many jobs may have the same.
    known: HashMap<(PathBuf, bool), Result<Option<Copy>, String>>,
    used: HashSet<PathBuf>,
}

impl Copies {
    /// Returns the number of images that were turned.
    pub fn count(&self) -> usize {
        self.used.len()
    }

    /// Replaces the images of a field that are stored turned. The second value is for the checks of
    /// a dry run, in which the copies are not written.
    pub fn replace(
        &mut self,
        value: Converted,
        settings: &Upright,
        (operation, is_mask): (&'static Operation, bool),
    ) -> Result<(Converted, Option<Converted>), String> {
        let field = (operation, is_mask);
        match value {
            Converted::Image(image) => {
                let (sent, checked) = self.of_image(image, settings, field)?;
                Ok((Converted::Image(sent), checked.map(Converted::Image)))
            }
            value => Ok((value, None)),
        }
    }

    fn of_image(
        &mut self,
        image: ImageInput,
        settings: &Upright,
        (operation, is_mask): (&'static Operation, bool),
    ) -> Result<(ImageInput, Option<ImageInput>), String> {
        let copy = match &image {
            ImageInput::Path(path) => {
                let key = (path.clone(), is_mask);
                let known = self.known.entry(key);
                known.or_insert_with(|| settings.copy_of(&image, operation, is_mask)).clone()
            }
            image => settings.copy_of(image, operation, is_mask),
        };
        let Some(Copy { path, head }) = copy? else { return Ok((image, None)) };
        self.used.insert(path.clone());
        Ok((ImageInput::path(path), head))
    }
}

impl Upright {
    /// Returns the copy of an image, unless the image is upright, or an error message.
    fn copy_of(
        &self,
        image: &ImageInput,
        operation: &'static Operation,
        is_mask: bool,
    ) -> Result<Option<Copy>, String> {
        if image.orientation() == 1 {
            return Ok(None);
        }
        let path = match image {
            ImageInput::Path(path) => path.display().to_string(),
            _ => "of the job".to_owned(),
        };
        let failed = |why: &str| format!("could not turn the image {path} upright{why}");
        let undecodable =
            || failed("; save it upright as JPEG or PNG with an image editor, or correct the file");
        let original = image.head(usize::MAX).ok_or_else(undecodable)?;
        let extension = match FileKind::of(&original) {
            Some(kind @ (FileKind::Jpeg | FileKind::Webp)) => kind.extension(),
            _ => FileKind::Png.extension(),
        };
        let unwritable =
            |error| failed(&format!(": could not write to {}: {error}", self.folder.display()));
        let folder = std::path::absolute(&self.folder).map_err(unwritable)?;
        let copy = folder.join(format!("{}.{extension}", sha256(&original)));
        if copy.is_file() {
            return Ok(Some(Copy { path: copy, head: None }));
        }
        // Not the file, which may have changed since.
        let original = ImageInput::bytes(original);
        // A decoder may fill what is missing with gray.
        let whole = Request::new(operation).image("image", original.clone()).check_images();
        if let Some(violation) = whole.as_ref().err().and_then(|error| error.violations().first()) {
            return Err(failed(&format!(": it {}", violation.msg)));
        }
        let mut upright = turned_upright(&original).ok_or_else(undecodable)?;
        if self.is_dry_run {
            // The checks of a job decode masks.
            if !is_mask {
                upright.truncate(HEADER);
            }
            return Ok(Some(Copy { path: copy, head: Some(ImageInput::bytes(upright)) }));
        }
        write(&copy, &folder, &upright).map_err(unwritable)?;
        Ok(Some(Copy { path: copy, head: None }))
    }
}

/// Writes a copy to a directory that other users cannot read: they may not be able to read the
/// originals. A ledger will name the copy, so it must survive a crash of the machine.
fn write(copy: &Path, folder: &Path, content: &[u8]) -> io::Result<()> {
    if !folder.is_dir() {
        fs::create_dir_all(folder)?;
        #[cfg(unix)]
        fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    write_private(copy, content)?;
    #[cfg(unix)]
    for directory in folder.ancestors().take(2) {
        // A writable directory may not be readable.
        fs::File::open(directory).map_or(Ok(()), |directory| directory.sync_all())?;
    }
    Ok(())
}
