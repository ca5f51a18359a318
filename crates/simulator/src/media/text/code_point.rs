//! A character that no font has: a box with its code point, in two rows of digits.

use super::PLAIN;

/// The size of the digits, relative to the text.
const DIGITS: f32 = 0.42;

/// The box is narrower than its space, so that neighbours do not touch.
const GAP: f32 = 0.08;

/// The code point in two rows: `0E` and `01`.
fn rows(character: char) -> [String; 2] {
    let code = u32::from(character);
    let digits = if code > 0xffff { format!("{code:06X}") } else { format!("{code:04X}") };
    let (upper, lower) = digits.split_at(digits.len() / 2);
    [upper.to_owned(), lower.to_owned()]
}

pub(super) fn width(character: char, size: f32) -> f32 {
    let [upper, _] = rows(character);
    PLAIN.width(&upper, size * DIGITS) + size * (3.0 * GAP)
}

pub(super) fn draw(
    character: char,
    size: f32,
    (x, baseline): (f32, f32),
    dot: &mut dyn FnMut(i64, i64, f32),
) {
    let (wide, top) = (width(character, size) - size * GAP, baseline - size * 0.74);
    let (left, right) = (x as i64, (x + wide) as i64);
    let (upper, lower) = (top as i64, (baseline + size * 0.12) as i64);
    for column in left..=right {
        dot(column, upper, 0.6);
        dot(column, lower, 0.6);
    }
    for row in upper + 1..lower {
        dot(left, row, 0.6);
        dot(right, row, 0.6);
    }
    for (row, digits) in (1..).zip(rows(character)) {
        let at = (x + size * GAP, top + row as f32 * size * 0.4 - size * 0.03);
        PLAIN.ink(&digits, size * DIGITS, at, dot);
    }
}
