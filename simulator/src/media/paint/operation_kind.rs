//! The kinds of operations, by what they do with the images of a request.

/// A kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationKind {
    /// Paints a new picture: from text, from references, or from an image prompt.
    Create,
    /// Paints where a mask is white.
    Fill,
    /// Extends the sides of an image.
    Expand,
    /// Sharpens an image.
    Deblur,
    /// Removes what a mask covers.
    Erase,
    /// Shows a person with garments.
    TryOn,
    /// Places an image in a larger picture.
    Outpaint,
    /// Paints by the edges of a control image.
    Canny,
    /// Paints by the depth of a control image.
    Depth,
}

impl OperationKind {
    /// The kind of an operation, by its name: `gen-pro-1.0-fill-finetuned`, `gen-tools/erase-v1`.
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
    fn operations_are_classified_by_name() {
        for (operation, kind) in [
            ("gen-2-pro", OperationKind::Create),
            ("gen-2-klein-9b-kv-finetuned", OperationKind::Create),
            ("gen-3-video", OperationKind::Create),
            ("gen-pro-1.0", OperationKind::Create),
            ("gen-pro-1.0-fill", OperationKind::Fill),
            ("gen-pro-1.0-fill-finetuned", OperationKind::Fill),
            ("gen-pro-1.0-expand", OperationKind::Expand),
            ("gen-pro-1.0-canny-finetuned", OperationKind::Canny),
            ("gen-pro-1.0-depth", OperationKind::Depth),
            ("gen-tools/deblur-v1", OperationKind::Deblur),
            ("gen-tools/erase-v1", OperationKind::Erase),
            ("gen-tools/vto-v2", OperationKind::TryOn),
            ("gen-tools/outpainting-v1", OperationKind::Outpaint),
        ] {
            assert_eq!(OperationKind::of(operation), kind, "{operation}");
        }
    }
}
