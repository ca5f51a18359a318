//! What holds for the structure of every format.

mod formats;
mod samples;

use proptest::{
    collection::vec,
    prelude::{any, prop_assert_eq, proptest},
    sample::{Index, select},
};

use super::{Checker, Extent};
use samples::{Sample, samples};

fn extent_of<'a>(chunks: impl IntoIterator<Item = &'a [u8]>) -> Extent {
    let mut checker = Checker::default();
    chunks.into_iter().for_each(|chunk| checker.feed(chunk));
    checker.extent()
}

#[test]
fn every_sample_is_whole_and_of_its_kind() {
    for Sample { name, bytes, kind, extent, .. } in samples() {
        let mut checker = Checker::default();
        checker.feed(&bytes);
        assert_eq!((checker.extent(), checker.kind()), (extent, Some(kind)), "{name}");
    }
}

#[test]
fn no_prefix_that_ends_before_the_end_is_whole() {
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
fn chunks_of_one_byte_give_the_same_verdict_after_each() {
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
    fn any_chunks_give_the_same_verdict(
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
    fn trailing_bytes_do_not_change_the_verdict(sample in select(samples()), trailing in vec(any::<u8>(), 0..64)) {
        // A segment of an unknown size takes what looks like an element for one; a zero never does.
        let trailing = if sample.name.contains("unknown size") { vec![0; trailing.len()] } else { trailing };
        prop_assert_eq!(extent_of([&sample.bytes[..], &trailing]), sample.extent, "{}", sample.name);
    }

    #[test]
    fn random_bytes_never_panic(head in select(samples()), kept in 0..40_usize, random in vec(any::<u8>(), 0..400)) {
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
