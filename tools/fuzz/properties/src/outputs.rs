//! Where a batch saves pictures.

use imagekiln_batch::fuzzing::{Output, location, output as read_output};
use imagekiln_label::{Template, TemplateFields};

use crate::exchange::{SECRET, assert_no_secret};

/// The template is in the first line, and the values of its fields are in the next ones. The name
/// of a picture stays below the output, and is the same if a part of it is filled in before and
/// stored.
pub fn template(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    let mut lines = text.split('\n');
    let template = match Template::parse(lines.next().unwrap_or_default()) {
        Ok(template) => template,
        Err(error) => return assert!(!error.to_string().contains(char::is_control), "{error}"),
    };
    assert_eq!(Template::parse(&template.to_string()).expect("a printed template"), template);
    let mut next = || lines.next().unwrap_or_default();
    let (name, model, id, ext) = (next(), next(), next(), next());
    let seed = next().parse().ok();
    let prompt = lines.collect::<Vec<_>>().join("\n");
    let fields = TemplateFields {
        index: text.len() as u64,
        name,
        prompt: &prompt,
        seed,
        model,
        id,
        ext,
        date: "2026-11-29",
    };
    let rendered = template.render(&fields);
    assert_below(&rendered);
    if template.is_plain() {
        assert_eq!(rendered, template.to_string().replace("{{", "{").replace("}}", "}"));
    }
    assert!(!rendered.to_ascii_lowercase().ends_with(".json"), "{rendered}");
    let filled = template.filled(&fields);
    assert_eq!(Template::parse(&filled.to_string()).expect("a stored template"), filled);
    assert_eq!(filled.render(&fields), rendered);
}

fn assert_below(path: &str) {
    for component in path.split('/') {
        assert!(!matches!(component, "" | "." | "..") && component.len() <= 200, "{path:?}");
        assert!(!component.contains(char::is_control), "{path:?}");
    }
}

/// The output of a batch is a folder or a bucket, and is the same after it was printed. A refusal
/// does not contain the credentials of a URL. A saved picture is found again.
pub fn output(data: &[u8]) {
    let Ok(text) = str::from_utf8(data) else { return };
    match read_output(text) {
        Ok(Output::Folder(folder)) => assert_eq!(folder.to_str(), Some(text)),
        Ok(Output::Bucket(url)) => {
            let again = read_output(&url.to_string()).expect("a printed URL");
            assert_eq!(again, Output::Bucket(url.clone()));
            let found = location(&format!("{url}/fox.png")).expect("a location");
            assert_eq!(found, (again, "fox.png".to_owned()));
        }
        Err(error) => assert!(!error.to_string().contains(char::is_control), "{error}"),
    }
    for credentials in ["user:", "", "a/?", "a/#", "?"] {
        let url = format!("s3://{credentials}{SECRET}@{text}");
        if let Err(error) = read_output(&url) {
            assert_no_secret(&format!("{error} {error:?}"));
        }
    }
}
