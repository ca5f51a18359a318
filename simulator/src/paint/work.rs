//! What an operation does to the images of its request.

/// A kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// Paints anew: from text, from references, or from an image prompt.
    Create,
    /// Paints where a mask says so.
    Fill,
    /// Adds to the sides of an image.
    Expand,
    /// Sharpens an image.
    Deblur,
    /// Removes what a mask covers.
    Erase,
    /// Shows a person with garments.
    TryOn,
    /// Places an image in a larger picture.
    Outpaint,
    /// Paints along the edges of a control image.
    Canny,
    /// Paints by the depth of a control image.
    Depth,
}

impl Work {
    /// By the operation's name: `gen-pro-1.0-fill-finetuned`, `gen-tools/erase-v1`.
    pub(crate) fn of(operation: &str) -> Self {
        let base = operation.strip_suffix("-finetuned").unwrap_or(operation);
        match base.rsplit(['/', '-']).next().unwrap_or(base) {
            "fill" => Self::Fill,
            "expand" => Self::Expand,
            "canny" => Self::Canny,
            "depth" => Self::Depth,
            _ if base.contains("/deblur-") => Self::Deblur,
            _ if base.contains("/erase-") => Self::Erase,
            _ if base.contains("/vto-") => Self::TryOn,
            _ if base.contains("/outpainting-") => Self::Outpaint,
            _ => Self::Create,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_told_by_their_names() {
        for (operation, work) in [
            ("gen-2-pro", Work::Create),
            ("gen-2-klein-9b-kv-finetuned", Work::Create),
            ("gen-3-video", Work::Create),
            ("gen-pro-1.0", Work::Create),
            ("gen-pro-1.0-fill", Work::Fill),
            ("gen-pro-1.0-fill-finetuned", Work::Fill),
            ("gen-pro-1.0-expand", Work::Expand),
            ("gen-pro-1.0-canny-finetuned", Work::Canny),
            ("gen-pro-1.0-depth", Work::Depth),
            ("gen-tools/deblur-v1", Work::Deblur),
            ("gen-tools/erase-v1", Work::Erase),
            ("gen-tools/vto-v2", Work::TryOn),
            ("gen-tools/outpainting-v1", Work::Outpaint),
        ] {
            assert_eq!(Work::of(operation), work, "{operation}");
        }
    }
}
