//! The tools and what a model reads about them. Every client sends all of it with each request to
//! its model, so it is short: a test counts it.

use std::sync::Arc;

use rmcp::model::{Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

/// What a client tells its model about the server.
pub const INSTRUCTIONS: &str = "\
Pictures cost credits of the person and take seconds to minutes. The same call is the same \
picture: after a timeout or a lost answer, repeat exactly the same call; it never pays twice. Say \
that a picture is done only if its state is `saved`.";

const RULES: &str = "\
Costs credits of the person: every result has `cost` and what is left of the budget. Answers \
within seconds. With state `in_progress` the picture goes on by itself: call `look` with its \
number; do not make it again. After a timeout or a lost answer, repeat exactly the same call: the \
same arguments are the same picture and are never paid twice. For another picture of the same \
words, pass another `seed`, or `attempt`: 2 once the first has ended. Never reword, reseed or \
change the model to get around an error. A moderated request fails again, and costs again, unless \
it changes. If it is unknown whether a picture was paid, stop and tell the person.";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Name {
    Make,
    Edit,
    Run,
    Models,
    Look,
    Pictures,
    Spending,
}

const NAMES: [(&str, Name); 7] = [
    ("make", Name::Make),
    ("edit", Name::Edit),
    ("run", Name::Run),
    ("models", Name::Models),
    ("look", Name::Look),
    ("pictures", Name::Pictures),
    ("spending", Name::Spending),
];

impl Name {
    pub fn of(text: &str) -> Option<Self> {
        NAMES.iter().find(|(name, _)| *name == text).map(|(_, tool)| *tool)
    }

    /// Whether a call may cost credits.
    pub fn pays(self) -> bool {
        matches!(self, Self::Make | Self::Edit | Self::Run)
    }

    fn description(self) -> String {
        match self {
            Self::Make => format!("Make a picture from text, and save it. {RULES}"),
            Self::Edit => "Make a picture from pictures and text: what to change, or what to take \
                           from each. Costs credits; the rules of `make` apply."
                .to_owned(),
            Self::Run => "Run any model with its own fields, for example to erase, expand or \
                          deblur; `models` lists them. Costs credits; the rules of `make` apply."
                .to_owned(),
            Self::Models => "List the models, or the fields and bounds of one. Free.".to_owned(),
            Self::Look => "What became of a picture, by its number; waits some seconds for one in \
                           progress. Without a number: all that is unfinished. Free."
                .to_owned(),
            Self::Pictures => "Search earlier pictures by words of their prompts or models, \
                               newest first. Free."
                .to_owned(),
            Self::Spending => "What was spent and what is left of the budgets, which only the \
                               person can change. Free."
                .to_owned(),
        }
    }

    /// The properties of its arguments, and those that are required.
    fn properties(self) -> (Value, &'static [&'static str]) {
        let mut making = json!({
            "fields": {
                "type": "object",
                "description": "More fields of the model, such as width and height; see `models`",
            },
            "file": {
                "type": "string",
                "description": "Where to save it, below an allowed folder; nothing is replaced",
            },
            "attempt": {
                "type": "integer",
                "minimum": 1,
                "description": "2 to pay for the same call once more",
            },
        });
        let text = |description: &str| json!({ "type": "string", "description": description });
        let mut add = |name: &str, property: Value| {
            making.as_object_mut().map(|making| making.insert(name.to_owned(), property))
        };
        if self == Self::Make || self == Self::Edit {
            add("prompt", text("What the picture shows, or what to change"));
            add("model", text("Default: the person's"));
            add("seed", json!({ "type": "integer" }));
        }
        match self {
            Self::Make => (making, &["prompt"]),
            Self::Edit => {
                add(
                    "images",
                    json!({
                        "type": "array",
                        "items": { "type": "string" },
                        "description": "Files in allowed folders, or numbers such as @3",
                    }),
                );
                (making, &["prompt", "images"])
            }
            Self::Run => {
                add("model", text("A name of `models`"));
                (making, &["model", "fields"])
            }
            Self::Models => (json!({ "model": text("The one to describe") }), &[]),
            Self::Look => (json!({ "number": text("Such as @3") }), &[]),
            Self::Pictures => (
                json!({
                    "search": text("Words that all occur"),
                    "limit": { "type": "integer", "minimum": 1, "maximum": 50 },
                }),
                &[],
            ),
            Self::Spending => (json!({}), &[]),
        }
    }
}

/// The definitions of all tools.
pub fn all() -> Vec<Tool> {
    let tools = NAMES.into_iter().map(|(name, tool)| {
        let (properties, required) = tool.properties();
        let mut schema = Map::new();
        schema.insert("type".to_owned(), "object".into());
        schema.insert("properties".to_owned(), properties);
        if !required.is_empty() {
            schema.insert("required".to_owned(), json!(required));
        }
        schema.insert("additionalProperties".to_owned(), false.into());
        let hints = ToolAnnotations::new().read_only(!tool.pays()).idempotent(true);
        let hints = if tool.pays() { hints.destructive(false) } else { hints };
        Tool::new(name, tool.description(), Arc::new(schema)).with_annotations(hints)
    });
    tools.collect()
}
