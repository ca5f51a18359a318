//! EBML, the binary format of Matroska and WebM files (RFC 8794).

/// The id of an element, as in the file.
pub(super) type Id = u32;

/// An element with binary content. The size always takes eight bytes, so that the length of an
/// element is known before it is written.
pub(super) fn element(id: Id, content: &[u8]) -> Vec<u8> {
    let id = id.to_be_bytes();
    let size = (content.len() as u64 | 1 << 56).to_be_bytes();
    id.into_iter()
        .skip_while(|byte| *byte == 0)
        .chain(size)
        .chain(content.iter().copied())
        .collect()
}

/// An element with child elements.
pub(super) fn master(id: Id, children: &[Vec<u8>]) -> Vec<u8> {
    element(id, &children.concat())
}

/// An unsigned integer, in eight bytes.
pub(super) fn unsigned(id: Id, number: u64) -> Vec<u8> {
    element(id, &number.to_be_bytes())
}

pub(super) fn float(id: Id, number: f64) -> Vec<u8> {
    element(id, &number.to_be_bytes())
}

pub(super) fn text(id: Id, text: &str) -> Vec<u8> {
    element(id, text.as_bytes())
}
