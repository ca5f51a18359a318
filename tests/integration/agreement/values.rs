//! Values of fields to test: valid ones, each limit with its neighbours, and other types.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};

use super::images::{
    self, BROKEN_URLS, FULL_PNG, LARGE_PNG, LENIENT, NO_IMAGES, TALL_PNG, TEXTS, URLS,
};
use imagekiln::{Field, FieldKind, Limits, Operation};

/// Values that the field accepts, most of them at its limits.
pub fn valid(field: &Field) -> Vec<Value> {
    let limits = &field.limits;
    let mut values = match &field.kind {
        FieldKind::Boolean => vec![json!(true), json!(false)],
        FieldKind::Integer | FieldKind::Number => {
            let ends = [limits.minimum, limits.maximum].into_iter().flatten();
            let mut numbers: Vec<_> = ends.map(|number| integer_or_float(field, number)).collect();
            if numbers.is_empty() {
                numbers = vec![json!(7), json!(-7), json!(i64::MAX)];
            }
            numbers
        }
        FieldKind::Choice { values, .. } => values.iter().map(|value| json!(value)).collect(),
        FieldKind::AspectRatio { .. } => vec![json!("16:9"), json!("1:1"), json!("2:3")],
        FieldKind::Address => ["https://hooks.example.com/done?token=t", "http://a.example"]
            .map(|url| json!(url))
            .to_vec(),
        FieldKind::Image { takes_url, .. } => {
            let urls = (*takes_url != Some(false)).then_some(URLS);
            let urls = urls.into_iter().flatten().map(|url| json!(url));
            TEXTS.iter().map(|text| json!(text)).chain(urls).collect()
        }
        FieldKind::Json => vec![json!(64)],
        // The simulator knows one finetune.
        _ if field.name == "finetune_id" => vec![json!("fox-style")],
        _ => texts(limits),
    };
    if field.nullable {
        values.push(Value::Null);
    }
    values
}

fn texts(limits: &Limits) -> Vec<Value> {
    let least = limits.min_length.unwrap_or_default() as usize;
    let most = limits.max_length.unwrap_or(u64::MAX);
    let texts = ["a fox", "ein Fuchs im Schnee: \u{1f98a} \"\\\n"];
    let texts = texts.map(|text| format!("{text:x<least$}")).into_iter();
    texts.filter(|text| text.chars().count() as u64 <= most).map(Value::from).collect()
}

/// Values at the limits of the field and beyond, and of other types.
pub fn any(field: &Field) -> Vec<Value> {
    let mut values = valid(field);
    values.extend([json!(null), json!(true), json!(7), json!(7.0), json!(7.5), json!(-1)]);
    values.extend(["7", "a fox", ""].map(|text| json!(text)));
    values.extend([json!([]), json!({ "a": [1] })]);
    values.extend(numbers(&field.limits));
    match &field.kind {
        FieldKind::Integer | FieldKind::Number => {
            values.extend([json!(i64::MIN), json!(u64::MAX), json!((1_u64 << 53) + 1)]);
            values.extend([json!(1e300), json!(-1e300), json!(-0.0), json!(1e-300)]);
        }
        FieldKind::Choice { values: known, .. } => {
            values.extend(known.iter().map(|value| json!(value.to_uppercase())));
            values.extend(known.iter().map(|value| json!(format!("{value} "))));
        }
        FieldKind::AspectRatio { narrowest, widest, .. } => {
            values.extend(near_ratios(*narrowest, *widest).map(Value::from));
        }
        FieldKind::Address => values.extend(["nowhere", "ftp://a.example/"].map(Value::from)),
        FieldKind::Image { max_megapixels, .. } => {
            values.extend(NO_IMAGES.into_iter().chain(URLS).map(Value::from));
            values.push(json!(STANDARD.encode(&*TALL_PNG)));
            let sizes = max_megapixels.iter().flat_map(|_| [&*FULL_PNG, &*LARGE_PNG]);
            values.extend(sizes.map(|image| json!(STANDARD.encode(image))));
        }
        _ => {}
    }
    values.extend(lengths(field).into_iter().map(Value::from));
    values
}

/// More texts of this kind of field, whose check does not depend on the field's own limits.
pub fn syntax(field: &Field) -> Vec<Value> {
    let texts: Vec<String> = match &field.kind {
        FieldKind::AspectRatio { .. } => RATIOS.map(str::to_owned).into(),
        FieldKind::Address => addresses(),
        FieldKind::Image { .. } => {
            TEXTS.iter().chain(&*LENIENT).cloned().chain(BROKEN_URLS.map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    texts.into_iter().map(Value::from).collect()
}

fn integer_or_float(field: &Field, number: f64) -> Value {
    if field.kind == FieldKind::Integer { json!(number as i64) } else { json!(number) }
}

/// Each limit and its neighbours, as integers and with a fraction.
pub fn numbers(limits: &Limits) -> Vec<Value> {
    let step = limits.multiple_of.unwrap_or(1.0);
    let ends = [limits.minimum, limits.maximum].into_iter().flatten();
    let near = ends.flat_map(|end| [0.0, step, -step, 1.0, -1.0, 0.5, 1e-9].map(|by| end + by));
    near.flat_map(|number| {
        let whole = (number.fract() == 0.0).then(|| json!(number as i64));
        whole.into_iter().chain([json!(number)])
    })
    .collect()
}

/// Texts at the limits of the length, which counts characters and not bytes.
pub fn lengths(field: &Field) -> Vec<String> {
    let ends = [field.limits.min_length, field.limits.max_length].into_iter().flatten();
    let near = ends.flat_map(|end| [end.saturating_sub(1), end, end + 1]);
    let start = if field.kind == FieldKind::Address { "https://a.example/" } else { "" };
    let text = |(length, filler): (u64, &str)| {
        let rest = (length as usize).checked_sub(start.len())?;
        Some(format!("{start}{}", filler.repeat(rest)))
    };
    near.flat_map(|length| ["x", "\u{e9}", "\u{1f98a}"].map(|filler| (length, filler)))
        .filter_map(text)
        .collect()
}

const RATIOS: [&str; 17] = [
    "0:1",
    "1:0",
    "16:9:1",
    "016:9",
    "+16:9",
    "-16:9",
    " 16:9",
    "16: 9",
    "16x9",
    "16/9",
    ":",
    "1.5:1",
    "4294967295:4294967295",
    "4294967296:4294967296",
    "16:",
    ":9",
    "\u{661}:1",
];

fn near_ratios(narrowest: (u32, u32), widest: (u32, u32)) -> impl Iterator<Item = String> {
    [narrowest, widest].into_iter().flat_map(|(width, height)| {
        [(0, 0), (1, 0), (0, 1)].map(|(x, y)| format!("{}:{}", width + x, height + y))
    })
}

fn addresses() -> Vec<String> {
    let schemes = ["", "http", "http:", "http:/", "http://", "https://", "https:///", "ftp://"];
    let rests =
        ["", "a.example/done", "a.example:99999/", "[::1]:80/", "/a.example", "a b.example"];
    let combined = schemes.iter().flat_map(|scheme| rests.map(|rest| format!("{scheme}{rest}")));
    let others = [
        "mailto:fox@a.example",
        " https://a.example/",
        "https://a.example/a b",
        "https://a.example/\n",
        "https://a.example\\b",
        "https://a.example/\u{e9}?q=%zz#f",
        "https://fox:secret@a.example/",
        "HTTPS://A.EXAMPLE/",
        "https:a.example",
    ];
    combined.chain(others.map(str::to_owned)).collect()
}

/// Fields that the operation does not list, with their values. Some have a meaning that the
/// contract leaves open, some are those of other operations.
pub fn unlisted(operation: &Operation) -> Vec<(&'static str, Value)> {
    let image = json!(STANDARD.encode(&*images::PNG));
    let fields = [
        ("field_of_tomorrow", json!({ "deep": [1, null] })),
        ("prompt", json!("a fox")),
        ("prompt", json!(null)),
        ("mask", image.clone()),
        ("mask", json!(null)),
        ("image", image.clone()),
        ("input_image", image.clone()),
        ("input_image_4", image.clone()),
        ("input_image_5", image.clone()),
        ("input_image_5", json!(null)),
        ("input_image_8", image.clone()),
        ("input_image_9", image.clone()),
        ("input_image_05", image.clone()),
        ("input_image_+5", image.clone()),
        ("input_image_0", json!(7)),
        ("input_image_99999999999999999999", json!(7)),
        ("input_image_x", json!(7)),
        ("input_images", json!([image])),
        ("width", json!(0)),
        ("height", json!(1_000_000)),
        ("reference_offset_x", json!("7")),
        ("dilation", json!(257)),
        ("finetune_id", json!("wolf-style")),
        ("name", json!("")),
        ("video", json!(7)),
        ("keyframes", json!([])),
        ("duration", json!("long")),
    ];
    fields.into_iter().filter(|(name, _)| operation.field(name).is_none()).collect()
}
