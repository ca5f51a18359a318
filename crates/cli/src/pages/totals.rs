//! The totals of a sheet, by state and by model.

use std::collections::BTreeMap;

use super::{
    Item, Kind,
    Value::{self, Html, Text},
    fill,
};
use imagekiln::text::Credits;

const SAVED: &str = "saved";

/// The number and the cost of jobs.
#[derive(Default)]
struct Total {
    jobs: usize,
    saved: usize,
    credits: f64,
    without_cost: usize,
}

#[derive(Default)]
pub struct Totals {
    all: Total,
    states: BTreeMap<String, usize>,
    models: BTreeMap<String, Total>,
}

impl Total {
    fn add(&mut self, item: &Item) {
        self.jobs += 1;
        self.saved += usize::from(item.state == SAVED);
        self.credits += item.credits.unwrap_or_default();
        self.without_cost += usize::from(item.is_without_cost);
    }

    /// Fills in a template with these numbers and with further values.
    fn fill(&self, template: &str, further: &[(&str, Value<'_>)]) -> String {
        let [jobs, saved] = [self.jobs, self.saved].map(|number| number.to_string());
        let credits = format!("{:.2}", Credits(self.credits));
        let note = match self.without_cost {
            0 => String::new(),
            jobs => format!("and {jobs} of unknown cost"),
        };
        let numbers = [("jobs", &jobs), ("saved", &saved), ("credits", &credits), ("note", &note)];
        let numbers = numbers.map(|(name, number)| (name, Text(number.as_str())));
        fill(template, &[&numbers, further].concat())
    }
}

impl Totals {
    pub fn add(&mut self, item: &Item) {
        self.all.add(item);
        *self.states.entry(item.state.clone()).or_default() += 1;
        match self.models.get_mut(&item.model) {
            Some(total) => total.add(item),
            None => self.models.entry(item.model.clone()).or_default().add(item),
        }
    }

    /// Returns the summary with the totals and the controls that filter by them.
    pub fn html(&self, kind: Kind) -> String {
        const STATE: &str = concat!(
            r#"<label class="choice" data-state="{{state}}">"#,
            r#"<input type="radio" name="state" value="{{state}}">"#,
            "<span>{{state}}</span> <b>{{jobs}}</b></label>\n",
        );
        const ROW: &str = concat!(
            r#"<tr><th scope="row">{{model}}</th><td>{{jobs}}</td><td>{{saved}}</td>"#,
            "<td>{{credits}} <small>{{note}}</small></td></tr>\n",
        );
        let [mut states, mut models, mut options] = [const { String::new() }; 3];
        for (state, jobs) in &self.states {
            let values = [("state", Text(state)), ("jobs", Text(&jobs.to_string()))];
            states += &fill(STATE, &values);
        }
        for (model, total) in &self.models {
            models += &total.fill(ROW, &[("model", Text(model))]);
            options += &fill("<option>{{model}}</option>\n", &[("model", Text(model))]);
        }
        let [noun, order, search] = match kind {
            Kind::Sheet => ["Jobs", "Batch order", "prompt, name, seed, reason"],
            _ => ["Pictures", "Newest first", "prompt, @number, seed, file, day"],
        };
        let further = [
            ("states", Html(&states)),
            ("models", Html(&models)),
            ("options", Html(&options)),
            ("noun", Text(noun)),
            ("order", Text(order)),
            ("search", Text(search)),
        ];
        self.all.fill(include_str!("assets/summary.html"), &further)
    }
}
