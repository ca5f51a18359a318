//! Tests of every format.

mod formats;
mod samples;

use proptest::{
    collection::vec,
    prelude::{any, prop_assert_eq, proptest},
    sample::{Index, select},
};

use self::samples::{Sample, samples};
use super::{Checker, Extent};

fn extent_of<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Extent {
    let mut checker = Checker::default();
    chunks.into_iter().for_each(|chunk| checker.feed(chunk));
    checker.extent()
}

#[test]
fn every_sample_is_complete_and_has_its_format() {
    for Sample { name, bytes, kind, extent, .. } in samples() {
        let mut checker = Checker::default();
        checker.feed(&bytes);
        assert_eq!((checker.extent(), checker.kind()), (extent, Some(kind)), "{name}");
    }
}

#[test]
fn every_proper_prefix_is_partial() {
    for Sample { name, bytes, end, .. } in samples() {
        for length in 0..end {
            assert_eq!(
                extent_of([&bytes[..length]]),
                Extent::Partial,
                "{name}, {length} of {end} bytes"
            );
        }
        assert_ne!(extent_of([&bytes[..end]]), Extent::Partial, "{name}");
    }
}

#[test]
fn chunks_of_one_byte_have_the_same_extent() {
    for Sample { name, bytes, .. } in samples() {
        let mut checker = Checker::default();
        for length in 0..bytes.len() {
            checker.feed(&bytes[length..=length]);
            assert_eq!(checker.extent(), extent_of([&bytes[..=length]]), "{name}, {length} bytes");
        }
    }
}

proptest! {
    #[test]
    fn chunk_boundaries_do_not_matter(
        sample in select(samples()),
        length in any::<Index>(),
        cuts in vec(any::<Index>(), 0..8),
    ) {
        let bytes = &sample.bytes[..length.index(sample.bytes.len() + 1)];
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let chunks = cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]);
        prop_assert_eq!(extent_of(chunks), extent_of([bytes]), "{}", sample.name);
    }

    #[test]
    fn trailing_bytes_do_not_change_the_extent(
        sample in select(samples()),
        trailing in vec(any::<u8>(), 0..64),
    ) {
        // In a segment of unknown size, trailing bytes may look like another element. Zeros never
        // look like one.
        let is_open_ended = sample.name.contains("unknown size");
        let trailing = if is_open_ended { vec![0; trailing.len()] } else { trailing };
        let extent = extent_of([&sample.bytes[..], &trailing]);
        prop_assert_eq!(extent, sample.extent, "{}", sample.name);
    }

    #[test]
    fn random_bytes_never_panic(
        head in select(samples()),
        kept in 0..40_usize,
        random in vec(any::<u8>(), 0..400),
    ) {
        let kept = &head.bytes[..kept.min(head.bytes.len())];
        extent_of([kept, &random]);
    }

    #[test]
    fn damaged_bytes_never_panic(
        sample in select(samples()),
        damage in vec((any::<Index>(), select(vec![0, 1, 2, 7, 8, 0x7f, 0x80, 0xd9, 0xff])), 1..12),
    ) {
        let mut bytes = sample.bytes;
        for (place, byte) in damage {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        extent_of([&bytes[..]]);
    }
}
