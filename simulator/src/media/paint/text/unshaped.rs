//! Scripts from right to left, without the feature `shaping`.

use super::{Face, line::Line};

impl<'a> Line<'a> {
    /// Characters from right to left, each with its own glyph: Arabic letters are not joined.
    pub(super) fn push_shaped(&mut self, face: &'a Face, text: &str, size: f32) -> Option<()> {
        let reversed: String = text.chars().rev().collect();
        self.push(face, &reversed, size);
        Some(())
    }
}
