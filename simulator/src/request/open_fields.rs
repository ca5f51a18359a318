//! Fields whose type the contract leaves open. The simulator reads them; their types and bounds
//! here are the simulator's own.

use std::ops::RangeInclusive;

use serde_json::Value;

use crate::contract::{OperationKind, Violation, integer};

/// The maximum side of a webp, in pixels.
const MAX_SIDE: i64 = 16383;

/// The range of pixels by which a mask may be dilated.
const DILATION: RangeInclusive<i64> = 0..=256;

/// The integer fields of this kind of operation, with their bounds.
fn integers(kind: OperationKind) -> &'static [(&'static str, RangeInclusive<i64>)] {
    match kind {
        OperationKind::Erase => const { &[("dilation", DILATION)] },
        OperationKind::Outpaint => {
            const {
                &[
                    ("width", 1..=MAX_SIDE),
                    ("height", 1..=MAX_SIDE),
                    ("reference_offset_x", -MAX_SIDE..=MAX_SIDE),
                    ("reference_offset_y", -MAX_SIDE..=MAX_SIDE),
                ]
            }
        }
        _ => &[],
    }
}

/// The violations of these fields.
pub(crate) fn check(kind: OperationKind, body: &Value) -> Vec<Violation> {
    let wrong = |(name, bounds): &(&str, RangeInclusive<i64>)| {
        let (kind, msg) = integer::violation(body.get(*name)?, bounds)?;
        Some(Violation::new(["body", *name], kind, msg))
    };
    integers(kind).iter().filter_map(wrong).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_operation_has_its_own_fields() {
        let found = |kind, body| {
            let violations = check(kind, &body).into_iter();
            violations.map(|violation| violation.kind).collect::<Vec<_>>()
        };
        let far = json!({ "reference_offset_x": -16384 });
        assert_eq!(found(OperationKind::Outpaint, far.clone()), ["greater_than_equal"]);
        assert!(found(OperationKind::Create, far).is_empty());
        assert_eq!(found(OperationKind::Outpaint, json!({ "width": 0 })), ["greater_than_equal"]);
        assert_eq!(found(OperationKind::Erase, json!({ "dilation": 257 })), ["less_than_equal"]);
    }
}
