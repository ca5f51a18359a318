//! The boolean entropy coder of VP8 (RFC 6386, section 7). Each boolean is coded with the
//! probability that it is false.

pub(super) struct BoolCoder {
    bytes: Vec<u8>,
    range: u32,
    bottom: u32,
    /// The number of shifts of `bottom` until its next byte is complete.
    shifts_left: u32,
}

impl BoolCoder {
    pub(super) fn new() -> Self {
        Self { bytes: Vec::new(), range: 255, bottom: 0, shifts_left: 24 }
    }

    /// Writes `yes`, which is false with a probability of `no_probability` in 256.
    pub(super) fn put(&mut self, yes: bool, no_probability: u8) {
        let split = 1 + (((self.range - 1) * u32::from(no_probability)) >> 8);
        if yes {
            self.bottom += split;
            self.range -= split;
        } else {
            self.range = split;
        }
        while self.range < 128 {
            self.range <<= 1;
            self.shift();
        }
    }

    fn shift(&mut self) {
        if self.bottom >> 31 == 1 {
            self.carry();
        }
        self.bottom <<= 1;
        self.shifts_left -= 1;
        if self.shifts_left == 0 {
            self.bytes.push((self.bottom >> 24) as u8);
            self.bottom &= 0x00ff_ffff;
            self.shifts_left = 8;
        }
    }

    /// Adds one to the written bytes.
    fn carry(&mut self) {
        for byte in self.bytes.iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return;
            }
        }
    }

    /// Writes the lowest `bits` of a number, highest bit first, with even probabilities.
    pub(super) fn put_number(&mut self, number: u32, bits: u32) {
        for bit in (0..bits).rev() {
            self.put(number >> bit & 1 == 1, 128);
        }
    }

    pub(super) fn finish(mut self) -> Vec<u8> {
        // Flushes `bottom`.
        for _ in 0..u32::BITS {
            self.shift();
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The decoder of RFC 6386, section 7.3.
    struct Decoder<'a> {
        bytes: &'a [u8],
        value: u32,
        range: u32,
        shifts: u32,
    }

    impl<'a> Decoder<'a> {
        fn new(bytes: &'a [u8]) -> Self {
            Self {
                bytes: &bytes[2..],
                value: u32::from(bytes[0]) << 8 | u32::from(bytes[1]),
                range: 255,
                shifts: 0,
            }
        }

        fn take(&mut self, no_probability: u8) -> bool {
            let split = 1 + (((self.range - 1) * u32::from(no_probability)) >> 8);
            let yes = self.value >= split << 8;
            if yes {
                self.range -= split;
                self.value -= split << 8;
            } else {
                self.range = split;
            }
            while self.range < 128 {
                self.value <<= 1;
                self.range <<= 1;
                self.shifts += 1;
                if self.shifts == 8 {
                    self.shifts = 0;
                    // The decoder reads two bytes ahead, beyond the end.
                    let (next, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
                    self.value |= u32::from(*next);
                    self.bytes = rest;
                }
            }
            yes
        }
    }

    proptest! {
        #[test]
        fn what_is_written_can_be_read(
            bools in proptest::collection::vec((any::<bool>(), 1u8..), 0..400)
        ) {
            let mut coder = BoolCoder::new();
            for (yes, no_probability) in &bools {
                coder.put(*yes, *no_probability);
            }
            let bytes = coder.finish();
            let mut decoder = Decoder::new(&bytes);
            for (yes, no_probability) in bools {
                prop_assert_eq!(decoder.take(no_probability), yes);
            }
        }
    }
}
