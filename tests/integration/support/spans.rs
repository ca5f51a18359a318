//! Captures the spans of a thread, with their parents and their fields.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::Debug,
    sync::{Arc, Mutex},
};

use tracing::{
    Dispatch, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::{DefaultGuard, NoSubscriber},
};
use tracing_subscriber::{
    Layer, Registry,
    layer::{Context, SubscriberExt},
    registry::LookupSpan,
};

/// A span that has started, and perhaps ended.
#[derive(Debug, Clone)]
pub struct Captured {
    pub name: &'static str,
    pub level: tracing::Level,
    /// The index of the parent.
    pub parent: Option<usize>,
    pub fields: BTreeMap<&'static str, String>,
}

impl Captured {
    #[track_caller]
    pub fn field(&self, name: &str) -> &str {
        self.fields.get(name).unwrap_or_else(|| panic!("no field {name}: {self:?}"))
    }
}

/// Captures until it is dropped. For tests on a single-threaded runtime.
pub struct Spans {
    state: Arc<Mutex<State>>,
    _guard: DefaultGuard,
    /// See [`Events`](super::events::Events).
    _second: Dispatch,
}

#[derive(Default)]
struct State {
    spans: Vec<Captured>,
    /// The index of each open span.
    open: HashMap<u64, usize>,
}

impl Spans {
    pub fn capture() -> Self {
        let second = Dispatch::new(NoSubscriber::default());
        let state = Arc::default();
        let subscriber = Registry::default().with(Recording(Arc::clone(&state)));
        Self { state, _guard: tracing::subscriber::set_default(subscriber), _second: second }
    }

    /// All spans in the order in which they started.
    pub fn all(&self) -> Vec<Captured> {
        self.state.lock().unwrap().spans.clone()
    }

    pub fn named(&self, name: &str) -> Vec<Captured> {
        self.all().into_iter().filter(|span| span.name == name).collect()
    }

    /// The names of the span's parents, the nearest first.
    pub fn parents(&self, span: &Captured) -> Vec<&'static str> {
        let all = self.all();
        let next = |span: &Captured| span.parent.map(|parent| all[parent].clone());
        std::iter::successors(next(span), next).map(|parent| parent.name).collect()
    }
}

struct Recording(Arc<Mutex<State>>);

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Recording {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, context: Context<'_, S>) {
        let mut fields = Fields(BTreeMap::new());
        attributes.record(&mut fields);
        let parent = context.span(id).and_then(|span| span.parent()).map(|span| span.id());
        let metadata = attributes.metadata();
        let mut state = self.0.lock().unwrap();
        let captured = Captured {
            name: metadata.name(),
            level: *metadata.level(),
            parent: parent.map(|parent| state.open[&parent.into_u64()]),
            fields: fields.0,
        };
        let index = state.spans.len();
        state.spans.push(captured);
        state.open.insert(id.into_u64(), index);
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        let mut state = self.0.lock().unwrap();
        let index = state.open[&id.into_u64()];
        let mut fields = Fields(std::mem::take(&mut state.spans[index].fields));
        values.record(&mut fields);
        state.spans[index].fields = fields.0;
    }
}

struct Fields(BTreeMap<&'static str, String>);

impl Visit for Fields {
    fn record_str(&mut self, field: &Field, value: &str) {
        // Exporters would keep both values.
        assert_eq!(self.0.insert(field.name(), value.to_owned()), None, "{field} recorded twice");
    }

    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record_str(field, &format!("{value:?}"));
    }
}
