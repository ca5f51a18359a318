//! How often faults apply.

/// How often a fault applies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Often {
    Times(u64),
    Always,
    /// With this probability each time.
    Chance(f64),
}

impl Often {
    pub(super) fn parse(text: &str) -> Option<Self> {
        let chance = || {
            let chance: f64 = text.parse().ok()?;
            (text.contains('.') && (0.0..=1.0).contains(&chance)).then_some(Self::Chance(chance))
        };
        let times =
            || text.strip_suffix('x')?.parse().ok().filter(|times| *times > 0).map(Self::Times);
        match text {
            "once" => Some(Self::Times(1)),
            "always" => Some(Self::Always),
            _ => times().or_else(chance),
        }
    }

    /// Whether it applies after it has been applied this often; `draw` returns a random number from
    /// 0 to 1.
    pub(super) fn is_due(self, applied: u64, draw: impl FnOnce() -> f64) -> bool {
        match self {
            Self::Times(times) => applied < times,
            Self::Always => true,
            Self::Chance(chance) => draw() < chance,
        }
    }

    /// How often it will still apply, if that is known.
    pub(super) fn left(self, applied: u64) -> Option<u64> {
        match self {
            Self::Times(times) => Some(times.saturating_sub(applied)),
            Self::Always | Self::Chance(_) => None,
        }
    }
}
