//! Image fields that differ only in their number, such as `input_image` to `input_image_8`. Help
//! shows them in one line.

use imagekiln::{Field, FieldKind, Operation};

/// The field that `field` continues: `input_image` for `input_image_2`.
pub fn first(model: &'static Operation, field: &Field) -> Option<&'static Field> {
    let (name, number) = field.name.rsplit_once('_')?;
    number.parse::<u32>().ok()?;
    let is_image = |field: &Field| matches!(field.kind, FieldKind::Image { .. });
    model.field(name).filter(|first| is_image(first) && is_image(field))
}

/// The flags of the second and the last field that continue `field`.
pub fn others(model: &'static Operation, field: &Field) -> Option<(String, String)> {
    let continues = |other: &&Field| first(model, other).is_some_and(|one| one.name == field.name);
    let mut flags = model.fields.iter().filter(continues).map(|field| field.name.replace('_', "-"));
    let second = flags.next()?;
    let last = flags.next_back().unwrap_or_else(|| second.clone());
    Some((second, last))
}
