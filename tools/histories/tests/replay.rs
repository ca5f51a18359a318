//! A fixed number of histories, on all processors.

use imagekiln_histories::live_many;

const HISTORIES: u64 = 150;

#[test]
fn no_picture_is_lost_or_paid_for_twice() {
    let (totals, broken) = live_many(0, |seed| seed < HISTORIES);
    let stories: Vec<String> = broken.iter().map(ToString::to_string).collect();
    assert!(stories.is_empty(), "{}", stories.join("\n"));
    assert_eq!(totals.histories, HISTORIES);
    assert!(totals.saved > HISTORIES && totals.killed > HISTORIES / 3, "{totals:?}");
    assert!(totals.given_up > 0 && totals.decisions > 0, "{totals:?}");
}
