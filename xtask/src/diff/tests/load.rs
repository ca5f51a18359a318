//! Documents in YAML.

use serde_json::{Value, json};

use crate::diff::load::parse;

#[track_caller]
fn assert_reads(text: &str, expected: &Value) {
    assert_eq!(&parse(text).expect("could not parse the document"), expected);
}

#[test]
fn json_is_recognized_by_its_brace() {
    assert_reads("\u{feff}\n {\"a\": 1}", &json!({ "a": 1 }));
    let error = parse("{ a: 1 }").expect_err("YAML in braces was accepted");
    assert_eq!(error.to_string(), "key must be a string at line 1 column 3");
    assert_reads("a: 1", &json!({ "a": 1 }));
}

#[test]
fn keys_are_text() {
    let text = "responses:\n  200: {a: 1}\n  '404': 2\n  on: 3\n  1.5: 4\n  true: 5\n";
    let expected =
        json!({ "responses": { "200": { "a": 1 }, "404": 2, "on": 3, "1.5": 4, "true": 5 } });
    assert_reads(text, &expected);
}

#[test]
fn words_and_dates_are_text() {
    let text = "- no\n- on\n- y\n- 2024-01-01\n- 012\n- 1_000\n- 3.1.0\n- 12:30\n";
    let expected = json!(["no", "on", "y", "2024-01-01", "012", "1_000", "3.1.0", "12:30"]);
    assert_reads(text, &expected);
    assert_reads("- true\n- ~\n- 5\n- 5.5\n- 1e3\n-", &json!([true, null, 5, 5.5, 1000.0, null]));
}

#[test]
fn anchors_are_expanded() {
    let text = "a: &a {b: 1}\nc: *a\nd:\n  <<: *a\n  e: 2\n";
    assert_reads(text, &json!({ "a": { "b": 1 }, "c": { "b": 1 }, "d": { "b": 1, "e": 2 } }));
}

#[test]
fn malformed_text_is_an_error_with_its_location() {
    let faults = [
        ("a: [1, 2\nb: 3\n", "at line 2, column 2"),
        ("a:\n\t- b\n", "at line 2, column 2"),
        ("a: 1\na: 2\n", "duplicate mapping key: a"),
        ("a: 1\n---\nb: 2\n", "multiple YAML documents"),
        ("? [a]\n: b\n", "expected string scalar at line 1, column 3"),
        ("~: b\n", "at line 1, column 1"),
        ("a: .nan\n", "non-finite float `.nan`"),
        ("a: *b\n", "unknown anchor at line 1, column 4"),
        ("a: &a [*a]\n", "at line 1, column 8"),
        ("a: \"\0\"", "unexpected character"),
    ];
    for (text, expected) in faults {
        let error = parse(text).expect_err("the text was accepted");
        let message = format!("{error:#}");
        assert!(message.starts_with("not valid YAML: ") && message.contains(expected), "{message}");
    }
}

#[test]
fn hostile_text_is_refused_in_time() {
    let repeated = |text: &str| text.repeat(100_000);
    let bomb = (1..12).fold("a0: &a0 [x]\n".to_owned(), |bomb, level| {
        let aliases = format!("*a{},", level - 1).repeat(9);
        bomb + &format!("a{level}: &a{level} [{aliases}]\n")
    });
    for text in [repeated("["), repeated("{a: "), repeated("- "), repeated("? "), bomb] {
        let text = format!("# A document\n{text}");
        parse(&text).expect_err("the text was accepted");
    }
    parse(&repeated("a: ")).expect_err("the text was accepted");
}
