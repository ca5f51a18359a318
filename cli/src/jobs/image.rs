//! Images in a job file: a path, an http(s) URL, or a `data:` URL.

use std::{fs, path::Path};

use crate::args::image::is_http_url;
use imagekiln::ImageInput;

/// Returns the image, or an error message. A path is relative to `folder`.
///
/// A job may run in another process, from another directory, so its request contains the absolute
/// path.
pub fn image(text: &str, folder: &Path) -> Result<ImageInput, String> {
    if is_http_url(text) {
        return Ok(ImageInput::url(text));
    }
    if text.get(..5).is_some_and(|scheme| scheme.eq_ignore_ascii_case("data:")) {
        return Ok(ImageInput::base64(text));
    }
    let path = folder.join(text);
    let check = || {
        let is_file = fs::metadata(&path)?.is_file();
        // Opening a pipe would wait for its writer.
        if is_file {
            fs::File::open(&path)?;
        }
        Ok(is_file)
    };
    let unreadable = |error| format!("could not read the image {}: {error}", path.display());
    if check().map_err(unreadable)? {
        Ok(ImageInput::path(std::path::absolute(&path).map_err(unreadable)?))
    } else {
        Err(format!("{} is not a file", path.display()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_contains_the_absolute_path() {
        let image = image("Cargo.toml", Path::new("")).unwrap();
        let ImageInput::Path(path) = &image else { panic!("{image:?}") };
        assert!(path.is_absolute() && path.ends_with("Cargo.toml"), "{path:?}");
    }
}
