use std::{
    collections::HashSet,
    path::{Component, Path},
};

use proptest::prelude::*;

use super::{MAX_COMPONENT, Template, TemplateFields, slug::slug};

const TEMPLATES: [&str; 10] = [
    "{index:04}-{slug}-{seed}.{ext}",
    "{name}",
    "{name}{ext}",
    "{model}/{name}/{id}.{ext}",
    ".{name}.part",
    "{name}.{name}.{name}.{slug}.{id}",
    "{{{id}}}/{name} . .",
    "{name}{model}{name}{model}{name}{slug}/{id}{name}{model}{name}{name}.{ext}",
    ".{name}-{id}/x.{ext}",
    "{id}/con.{name}/{date}{ext}",
];

fn render(template: &str, fields: TemplateFields<'_>) -> String {
    Template::parse(template).unwrap().render(&fields)
}

fn fox() -> TemplateFields<'static> {
    TemplateFields {
        index: 7,
        name: "fox: one",
        prompt: "A red fox",
        seed: Some(-3),
        model: "gen-tools/deblur-v1",
        date: "2026-11-29",
        id: "../1a2b",
        ext: "jpg",
    }
}

#[test]
fn every_field_has_a_value() {
    let template = "{index}-{index:03}/{name} {slug} {seed}/{date} {model}{{{id}}}.{ext}";
    let expected = "7-007/fox- one a-red-fox -3/2026-11-29 gen-tools-deblur-v1{1a2b-65e026a9}.jpg";
    assert_eq!(render(template, fox()), expected);
    let empty =
        render("{index}{name}{slug}{seed}{model}{date}{id}.{ext}", TemplateFields::default());
    assert_eq!(empty, "0jobpicturerandommodeldatetask.bin");
}

#[test]
fn names_of_different_tasks_stay_different() {
    let named = |template: &str, id| render(template, TemplateFields { id, ..fox() });
    let plain = "a".repeat(100);
    assert_eq!(named("{id}.png", &plain), format!("{plain}.png"));
    let ids = [&format!("{plain}1"), &format!("{plain}2"), "a:b", "a/b", "a-b"];
    let text = "x".repeat(190);
    for template in ["{id}.png", &format!("{text}{{id}}.png"), &format!("{text}/{{id}}")] {
        let names: HashSet<_> = ids.iter().map(|id| named(template, id)).collect();
        assert_eq!(names.len(), ids.len(), "{names:?}");
    }
    assert!(named(&format!("{text}{{id}}.png"), "1").ends_with(".png"));
}

#[test]
fn what_is_not_known_yet_is_left() {
    for template in TEMPLATES {
        let known = TemplateFields { id: "", ext: "", ..fox() };
        let filled = Template::parse(template).unwrap().filled(&known);
        let left = TemplateFields { id: fox().id, ext: fox().ext, ..TemplateFields::default() };
        assert_eq!(filled.render(&left), render(template, fox()));
        assert_eq!(Template::parse(&filled.to_string()).unwrap(), filled);
    }
}

#[test]
fn targets_without_fields_are_kept() {
    for target in ["fox.jpg", "a b/c:d.tiff", "a{{b}}.jpg", "con.png", "trailing. "] {
        let template = Template::parse(target).unwrap();
        assert!(template.is_plain());
        assert_eq!(template.render(&fox()), target.replace("{{", "{").replace("}}", "}"));
        assert_eq!(template.to_string(), target);
    }
}

#[test]
fn errors_name_the_position() {
    for (template, expected) in [
        ("fox-{sed}.png", "`sed` is not a field, at character 5; the fields are index, name, "),
        ("é{", "`{` has no `}`; write `{{` for a brace, at character 2"),
        ("a}b", "`}` has no `{`; write `}}` for a brace, at character 2"),
        ("{index:4}", "`4` is not a width such as `04`, at character 1"),
        ("{index:00}", "`00` is not a width"),
        ("{index:021}", "`021` is not a width"),
        ("{index:0+4}", "`0+4` is not a width"),
        ("{seed:04}", "`seed` cannot have a width"),
        ("{}", "`` is not a field"),
        ("{\u{1b}[31m}", "`\\u{1b}[31m` is not a field"),
        ("{index:\n}", "`\\n` is not a width"),
        ("../{name}", "`.` or `..`"),
        ("{name}/..", "`.` or `..`"),
        ("/{name}", "an empty component"),
        ("", "an empty component"),
        ("a/", "an empty component"),
        ("a\0.png", "a control character"),
        ("a:{name}", "cannot contain `:` on Windows"),
        ("{name}.JSON", "`.json` is the extension"),
        (".imagekiln-1.part", "temporary files"),
        (&"a".repeat(MAX_COMPONENT + 1), "more than 200 bytes"),
    ] {
        let error = Template::parse(template).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn values_are_valid_on_windows() {
    let named = |template, name| render(template, TemplateFields { name, ..fox() });
    assert_eq!(named("{name}.png", "COM¹"), "COM¹_.png");
    assert_eq!(named("{name}", "nul .tar.gz"), "nul _.tar.gz");
    assert_eq!(named("{name}", "a\u{202e}gnp.exe"), "a-gnp.exe");
    assert_eq!(named("{name}", "fox.json"), "fox-json");
    assert_eq!(named(".{name}", "imagekiln-x.part"), "_imagekiln-x.part");
    assert_eq!(named("{name}/x", "../.."), "job/x");
}

#[test]
fn slugs_are_readable() {
    for (prompt, expected) in [
        ("A red fox, in the SNOW!", "a-red-fox-in-the-snow"),
        ("the fox's den", "the-foxs-den"),
        ("Übergröße: crème brûlée, Łódź", "ubergrosse-creme-brulee-lodz"),
        ("e\u{301}te\u{301}", "ete"),
        ("🦊 2 foxes 🦊", "2-foxes"),
        ("红色的狐狸，在雪地里", "红色的狐狸-在雪地里"),
        ("Рыжая ЛИСА", "рыжая-лиса"),
        ("हिन्दी में", "हिन्दी-में"),
        ("หมาป่าที่นั่น", "หมาป่าที่นั่น"),
        ("ثعلب\u{200c}ها أحمر", "ثعلبها-أحمر"),
        ("ΟΔΥΣΣΕΥΣ", "οδυσσευσ"),
        ("  ", "picture"),
    ] {
        assert_eq!(slug(prompt), expected);
    }
    assert_eq!(slug("🦊"), format!("prompt-{}", &crate::sha256("🦊".as_bytes())[..8]));
    assert_eq!(slug(&"word ".repeat(99)), ["word"; 12].join("-"));
    assert_eq!(slug(&"x".repeat(99)).len(), 60);
    assert_eq!(slug(&"狐".repeat(99)), "狐".repeat(20));
    assert_eq!(slug(&format!("{} y", "狐".repeat(20))), "狐".repeat(20));
}

/// Text with the characters that matter in paths.
fn tricky() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        any::<char>().prop_map(String::from),
        proptest::sample::select(vec![
            "..",
            "/",
            "\\",
            ".",
            " ",
            "con",
            "CON.",
            "nul",
            "com1",
            "{",
            "}",
            "{{",
            "}}",
            "{seed}",
            "{name}",
            "{index:07}",
            ".json",
            ".imagekiln-",
            "狐",
            ":",
            "\0",
        ])
        .prop_map(String::from),
        Just("a".repeat(90)),
    ];
    proptest::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat())
}

fn assert_safe(name: &str) {
    assert!(Path::new(name).components().all(|part| matches!(part, Component::Normal(_))));
    for part in name.split('/') {
        assert!(!part.is_empty() && part.len() <= MAX_COMPONENT, "{name:?}");
        assert!(!part.ends_with(['.', ' ']) && !part.starts_with(".imagekiln-"), "{name:?}");
        assert!(!part.contains(['\\', ':', '*', '?', '"', '<', '>', '|']), "{name:?}");
        assert!(!part.chars().any(char::is_control), "{name:?}");
        let stem = part.split('.').next().unwrap_or_default().trim_end().to_ascii_lowercase();
        assert!(!["con", "nul", "aux", "prn", "com1", "lpt9"].contains(&&*stem), "{name:?}");
    }
    assert!(!name.to_ascii_lowercase().ends_with(".json"), "{name:?}");
}

proptest! {
    #[test]
    fn rendered_names_are_safe(
        name in tricky(), prompt in tricky(), model in tricky(), date in tricky(), id in tricky(),
        ext in tricky(), index: u64, seed: Option<i64>,
    ) {
        let fields = TemplateFields {
            index, seed, name: &name, prompt: &prompt, model: &model, date: &date, id: &id,
            ext: &ext,
        };
        for template in TEMPLATES {
            let rendered = render(template, fields);
            assert_safe(&rendered);
            prop_assert_eq!(rendered.matches('/').count(), template.matches('/').count());
            prop_assert_eq!(&rendered, &render(template, fields));
            let known = TemplateFields { date: "", id: "", ext: "", ..fields };
            let filled = Template::parse(template).unwrap().filled(&known);
            prop_assert_eq!(&filled.render(&fields), &rendered);
            prop_assert_eq!(Template::parse(&filled.to_string()).unwrap(), filled);
            let filled = Template::parse(template).unwrap().filled(&fields);
            prop_assert_eq!(&filled.render(&fields), &rendered);
        }
    }

    #[test]
    fn any_template_that_parses_is_safe_and_prints_itself(text in tricky(), name in tricky()) {
        if let Ok(template) = Template::parse(&text) {
            prop_assert_eq!(Template::parse(&template.to_string()).unwrap(), template.clone());
            let rendered = template.render(&TemplateFields { name: &name, ..fox() });
            prop_assert!(!rendered.starts_with('/'));
            prop_assert!(!rendered.split('/').any(|part| part == ".."));
            if !template.is_plain() {
                assert_safe(&rendered);
            }
        }
    }
}
