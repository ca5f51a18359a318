//! The size, the kind and the cost of a saved picture.

use std::{fmt, path::Path};

use crate::files::target::Saved;
use imagekiln::FileKind;

/// For example `PNG, 1024 x 768 pixels, 812 kB, 3 credits`. Unknown values are left out.
#[derive(Debug)]
pub struct Summary {
    kind: Option<FileKind>,
    /// The width and the height of an image.
    pixels: Option<(usize, usize)>,
    bytes: u64,
    cost: Option<f64>,
}

impl Summary {
    /// Reads the dimensions from the first bytes of the file.
    pub fn of(saved: &Saved, path: &Path, cost: Option<f64>) -> Self {
        // Without a kind, the path is a device or a pipe, which must not be read.
        let image = saved.kind.filter(|kind| !is_video(*kind));
        let pixels = image.and_then(|_| imagesize::size(path).ok());
        let pixels = pixels.map(|size| (size.width, size.height));
        Self { kind: saved.kind, pixels, bytes: saved.bytes, cost }
    }

    pub fn width(&self) -> Option<usize> {
        self.pixels.map(|(width, _)| width)
    }

    pub fn height(&self) -> Option<usize> {
        self.pixels.map(|(_, height)| height)
    }
}

pub fn is_video(kind: FileKind) -> bool {
    matches!(kind, FileKind::Mp4 | FileKind::Webm)
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(kind) = self.kind {
            write!(f, "{kind}, ")?;
        }
        if let Some((width, height)) = self.pixels {
            write!(f, "{width} x {height} pixels, ")?;
        }
        f.write_str(&size(self.bytes))?;
        match self.cost {
            Some(1.0) => f.write_str(", 1 credit"),
            Some(cost) => write!(f, ", {cost} credits"),
            None => Ok(()),
        }
    }
}

/// A number of bytes in decimal units, as file managers show it.
fn size(bytes: u64) -> String {
    let number = bytes as f64;
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..999_500 => format!("{:.0} kB", number / 1e3),
        _ => format!("{:.1} MB", number / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        let kind = Some(FileKind::Png);
        let summary = Summary { kind, pixels: Some((1024, 768)), bytes: 812_345, cost: Some(3.0) };
        assert_eq!(summary.to_string(), "PNG, 1024 x 768 pixels, 812 kB, 3 credits");
        let summary = Summary { kind: None, pixels: None, bytes: 7, cost: None };
        assert_eq!(summary.to_string(), "7 bytes");
        let kind = Some(FileKind::Webm);
        let summary = Summary { kind, pixels: None, bytes: 2_550_000, cost: Some(1.0) };
        assert_eq!(summary.to_string(), "WebM, 2.5 MB, 1 credit");
    }

    #[test]
    fn sizes_have_a_unit_that_fits() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1_000, "1 kB"),
            (999_499, "999 kB"),
            (999_500, "1.0 MB"),
            (20_000_000, "20.0 MB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
