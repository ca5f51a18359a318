//! Pseudo-random numbers and smooth noise, both reproducible.

/// The SplitMix64 generator.
pub(super) struct Draw(u64);

impl Draw {
    pub(super) fn new(key: &[u8; 32]) -> Self {
        Self(key.chunks(8).fold(0, |state, bytes| {
            bytes.iter().fold(state ^ 0x9e37_79b9_7f4a_7c15, |state: u64, byte| {
                state.wrapping_mul(0x0100_0000_01b3) ^ u64::from(*byte)
            })
        }))
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        scramble(self.0)
    }

    /// A number from 0 up to but not including 1.
    pub(super) fn unit(&mut self) -> f32 {
        unit(self.next())
    }

    pub(super) fn between(&mut self, from: f32, to: f32) -> f32 {
        from + (to - from) * self.unit()
    }

    /// One of several, of which there is at least one.
    pub(super) fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.next() as usize % of.len()]
    }

    /// True with the given probability.
    pub(super) fn chance(&mut self, probability: f32) -> bool {
        self.unit() < probability
    }
}

fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn unit(bits: u64) -> f32 {
    (bits >> 40) as f32 / (1u64 << 24) as f32
}

fn lattice(seed: u64, x: i64, y: i64) -> f32 {
    unit(scramble(
        seed ^ (x as u64).wrapping_mul(0x9e37_79b9)
            ^ (y as u64).wrapping_mul(0x85eb_ca6b_0000_0001),
    ))
}

/// A pseudo-random number from 0 to 1 for a pixel.
pub(super) fn speck(x: u64, y: u64) -> f32 {
    unit(scramble(x.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ scramble(y)))
}

pub(super) fn smooth(t: f32) -> f32 {
    t * t * (3.0 - 2.0 * t)
}

/// Smooth noise over a plane, from 0 to 1.
fn plane(seed: u64, x: f32, y: f32) -> f32 {
    let (column, row) = (x.floor(), y.floor());
    let (across, down) = (smooth(x - column), smooth(y - row));
    let (column, row) = (column as i64, row as i64);
    let along = |row| {
        let (left, right) = (lattice(seed, column, row), lattice(seed, column + 1, row));
        left + (right - left) * across
    };
    let top = along(row);
    if down == 0.0 { top } else { top + (along(row + 1) - top) * down }
}

/// Noise along a line with detail of `octaves` sizes, from 0 to 1.
pub(super) fn ridge(seed: u64, x: f32, octaves: u32) -> f32 {
    cloud(seed, x, 0.0, octaves)
}

/// Noise over a plane with detail of `octaves` sizes, from 0 to 1.
pub(super) fn cloud(seed: u64, x: f32, y: f32, octaves: u32) -> f32 {
    let (mut sum, mut whole, mut weight, mut scale) = (0.0, 0.0, 1.0, 1.0);
    for octave in 0..u64::from(octaves) {
        sum += plane(seed.wrapping_add(octave), x * scale, y * scale) * weight;
        whole += weight;
        weight *= 0.5;
        scale *= 2.03;
    }
    sum / whole
}
