//! The HTML of one job.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::{
    Entry,
    preview::{Preview, Thumbnail},
    template::{
        Value::{Html, Text},
        fill,
    },
};
use imagekiln::text::Credits;
use imagekiln_batch::JobState;

/// Characters to percent-encode in a relative URL. Otherwise, a name with a colon could be read as
/// a scheme.
const ESCAPED: &AsciiSet =
    &NON_ALPHANUMERIC.remove(b'/').remove(b'.').remove(b'-').remove(b'_').remove(b'~');

pub fn html(entry: &Entry) -> String {
    let preview = entry.picture.as_deref().map(Preview::of);
    let credits = entry.credits.map(|credits| Credits(credits).to_string()).unwrap_or_default();
    let values = [
        ("name", Text(&entry.name)),
        ("state", Text(entry.state.as_str())),
        ("model", Text(&entry.model)),
        ("credits", Text(&credits)),
        ("frame", Html(&frame(entry, preview.as_ref()))),
        ("headline", Html(&headline(entry))),
        ("reason", Html(&optional(REASON, entry.reason.as_deref()))),
        ("facts", Html(&facts(entry, preview.as_ref()))),
        ("link", Html(&optional(LINK, entry.link.as_deref().map(url).as_deref()))),
    ];
    fill(include_str!("assets/job.html"), &values)
}

const HEADLINE: &str = "<h2 class=\"{{class}}\" dir=\"auto\">{{value}}</h2>\n";
const NAME: &str = "<p class=\"name\" dir=\"auto\">{{value}}</p>\n";
const REASON: &str = "<p class=\"reason\" dir=\"auto\">{{value}}</p>\n";
const LINK: &str = "<a class=\"more\" href=\"{{value}}\" target=\"_blank\">Open the file</a>\n";

/// The prompt, and the name below it. Without a prompt, the name.
fn headline(entry: &Entry) -> String {
    let prompt = entry.prompt.as_deref().filter(|prompt| !prompt.trim().is_empty());
    let (class, value) = prompt.map_or(("name", &*entry.name), |prompt| ("prompt", prompt));
    let name = prompt.map(|_| &*entry.name);
    fill(HEADLINE, &[("class", Text(class)), ("value", Text(value))]) + &optional(NAME, name)
}

fn optional(template: &str, value: Option<&str>) -> String {
    value.map(|value| fill(template, &[("value", Text(value))])).unwrap_or_default()
}

/// The thumbnail, or a note instead of it.
fn frame(entry: &Entry, preview: Option<&Preview>) -> String {
    match preview {
        Some(Preview::Thumbnail(Thumbnail { jpeg, width, height })) => {
            let values = [
                ("jpeg", Html(&STANDARD.encode(jpeg))),
                ("width", Text(&width.to_string())),
                ("height", Text(&height.to_string())),
            ];
            // The text beside the picture describes it.
            let image = concat!(
                r#"<img src="data:image/jpeg;base64,{{jpeg}}" width="{{width}}" "#,
                r#"height="{{height}}" alt="" loading="lazy" decoding="async">"#,
            );
            fill(image, &values)
        }
        Some(Preview::Note(note)) => fill("<span>{{note}}</span>", &[("note", Text(note))]),
        None => {
            let note = match entry.state {
                JobState::Saved => "the file was not found",
                _ => "no picture",
            };
            fill("<span>{{note}}</span>", &[("note", Text(note))])
        }
    }
}

fn facts(entry: &Entry, preview: Option<&Preview>) -> String {
    let size = match preview {
        Some(Preview::Thumbnail(picture)) => {
            Some(format!("{} × {}", picture.width, picture.height))
        }
        _ => None,
    };
    let cost = match entry.credits {
        Some(credits) => ("plain", Some(format!("{:.2} credits", Credits(credits)))),
        None => ("", entry.is_without_cost().then(|| "unknown".to_owned())),
    };
    let seed = entry.seed.map(|seed| seed.to_string());
    let facts = [
        ("plain", "Model", Some(&entry.model)),
        ("", "Seed", seed.as_ref()),
        (cost.0, "Cost", cost.1.as_ref()),
        ("more", "Size", size.as_ref()),
        ("more", "Task", entry.task_id.as_ref()),
    ];
    let rows = facts.into_iter().filter_map(|(class, label, value)| {
        let values = [("class", Text(class)), ("label", Text(label)), ("value", Text(value?))];
        Some(fill(
            "<div class=\"{{class}}\"><dt>{{label}}</dt> <dd>{{value}}</dd></div>\n",
            &values,
        ))
    });
    rows.collect()
}

/// A relative URL for a path, whatever the names of its files are.
fn url(path: &str) -> String {
    format!("./{}", utf8_percent_encode(path, ESCAPED))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_stays_beside_the_sheet() {
        assert_eq!(url("foxes/1 é.png"), "./foxes/1%20%C3%A9.png");
        assert_eq!(url("javascript:alert(1)"), "./javascript%3Aalert%281%29");
        assert_eq!(url("//example.com/x?#"), ".///example.com/x%3F%23");
        assert_eq!(url("a\\b"), "./a%5Cb");
    }

    #[test]
    fn text_of_a_job_cannot_become_markup() {
        let hostile = "\"'><script>alert(1)</script><img src=x onerror=alert(1)>";
        let mut entry = Entry::new(hostile, hostile, JobState::Failed);
        entry.prompt = Some(hostile.to_owned());
        entry.reason = Some(hostile.to_owned());
        entry.task_id = Some(hostile.to_owned());
        entry.link = Some(hostile.to_owned());
        entry.picture = Some(hostile.into());
        let html = html(&entry);
        assert!(!html.contains("<script") && !html.contains("<img"), "{html}");
        let escaped = "&quot;&#39;&gt;&lt;script&gt;alert(1)&lt;/script&gt;&lt;img src=x";
        // The name twice, the model twice, and the prompt, the reason and the task once.
        assert_eq!(html.matches(escaped).count(), 7, "{html}");
    }

    #[test]
    fn the_headline_is_the_prompt() {
        let mut entry = Entry::new("fox-1", "gen-2-pro", JobState::Saved);
        let name = r#"<h2 class="name" dir="auto">fox-1</h2>"#;
        assert!(html(&entry).contains(name));
        entry.prompt = Some(" ".to_owned());
        assert!(html(&entry).contains(name));
        entry.prompt = Some("a red fox".to_owned());
        let html = html(&entry);
        assert!(html.contains(r#"<h2 class="prompt" dir="auto">a red fox</h2>"#), "{html}");
        assert!(html.contains(r#"<p class="name" dir="auto">fox-1</p>"#), "{html}");
    }

    #[test]
    fn a_cost_is_unknown_only_if_the_job_may_have_been_billed() {
        let is_unknown = |entry| html(&entry).contains("<dt>Cost</dt> <dd>unknown</dd>");
        let mut entry = Entry::new("a", "gen-2-pro", JobState::Failed);
        assert!(!is_unknown(entry.clone()));
        entry.task_id = Some("t-1".to_owned());
        assert!(is_unknown(entry.clone()));
        entry.credits = Some(3.0);
        assert!(!is_unknown(entry));
        assert!(is_unknown(Entry::new("b", "gen-2-pro", JobState::Unknown)));
    }
}
