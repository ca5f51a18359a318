//! Upright copies of images that are stored turned. Jobs send the copies, so that the service sees
//! each image as viewers show it.

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

/// How to make upright copies of images that are stored turned. The request of a job contains the
/// path of the copy, and the name of the copy is the SHA-256 digest of the original. So the job is
/// the same each time its file is read, and several processes can share the folder. A copy is
/// needed until all jobs that send it have ended.
#[derive(Debug, Clone)]
pub struct Upright {
    /// The folder for the copies, which is created with the first copy.
    pub folder: PathBuf,
    /// Whether jobs are only checked, so that no copies are written.
    pub is_dry_run: bool,
}

/// The upright copy of an image: its absolute path and, if a dry run did not write it, its first
/// bytes, or all bytes of a mask.
type Copy = (PathBuf, Option<ImageInput>);

/// The copies of all images of a list.
#[derive(Debug, Default)]
pub struct Copies {
    /// The copy of each original, by the path of the original and whether it is a mask. Many jobs
    /// may send the same image, which is then turned only once.
    known: HashMap<(PathBuf, bool), Result<Option<Copy>, String>>,
    /// The copies that jobs send.
    pub used: HashSet<PathBuf>,
}

impl Copies {
    /// Replaces an image that is stored turned by its upright copy. A dry run does not write the
    /// copy: then the second value contains its first bytes, for the checks.
    pub fn replace(
        &mut self,
        value: Converted,
        settings: &Upright,
        (operation, is_mask): (&'static Operation, bool),
    ) -> Result<(Converted, Option<Converted>), String> {
        let Converted::Image(image) = &value else { return Ok((value, None)) };
        let copy_of = || settings.copy_of(image, operation, is_mask);
        let copy = match image {
            ImageInput::Path(path) => {
                self.known.entry((path.clone(), is_mask)).or_insert_with(copy_of).clone()
            }
            _ => copy_of(),
        };
        let Some((path, head)) = copy? else { return Ok((value, None)) };
        self.used.insert(path.clone());
        Ok((Converted::Image(ImageInput::path(path)), head.map(Converted::Image)))
    }
}

impl Upright {
    /// Returns the copy of an image, `None` if the image is stored upright, or an error message.
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
            return Ok(Some((copy, None)));
        }
        // Turn the bytes that were hashed, because the file may have changed since.
        let original = ImageInput::bytes(original);
        // A decoder may fill the missing part of a truncated image with gray, so check it first.
        let whole = Request::new(operation).image("image", original.clone()).check_images();
        if let Some(violation) = whole.as_ref().err().and_then(|error| error.violations().first()) {
            return Err(failed(&format!(": it {}", violation.msg)));
        }
        let mut upright = turned_upright(&original).ok_or_else(undecodable)?;
        if self.is_dry_run {
            // The checks of a job decode masks. For other images, they read only the header.
            if !is_mask {
                upright.truncate(HEADER);
            }
            return Ok(Some((copy, Some(ImageInput::bytes(upright)))));
        }
        write(&copy, &folder, &upright).map_err(unwritable)?;
        Ok(Some((copy, None)))
    }
}

/// Writes a copy to a directory that other users cannot read, because they may not be allowed to
/// read the original. Syncs the file and its directory: the ledger refers to the copy, so the copy
/// must survive a crash of the machine.
fn write(copy: &Path, folder: &Path, content: &[u8]) -> io::Result<()> {
    if !folder.is_dir() {
        fs::create_dir_all(folder)?;
        #[cfg(unix)]
        fs::set_permissions(folder, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    }
    write_private(copy, content)?;
    #[cfg(unix)]
    for directory in folder.ancestors().take(2) {
        // A directory that can be written to may not be readable. Then it cannot be synced.
        fs::File::open(directory).map_or(Ok(()), |directory| directory.sync_all())?;
    }
    Ok(())
}
