//! The secrets that a client remembers from one exchange to the next.

use std::{fmt, sync::Arc};

use reqwest::header::{HeaderMap, HeaderValue};

use super::{Forms, SHORTEST_SECRET};
use crate::{Request, Secret, values::Mutex};

/// The number of forms of secrets that a client still remembers after the tasks of their requests
/// were dropped: those whose task was dropped last. A program may resume such a task from its
/// reference, which does not contain the secrets, and the service may echo them in a poll.
const MOST_RELEASED: usize = 100;

/// The secrets that a client redacts in responses: its key, the values of its default headers, its
/// webhook secret, and the secret fields of its requests, which the service may echo in polls.
#[derive(Default)]
pub(crate) struct Secrets {
    forms: Known,
    /// The forms that the client remembers for as long as it exists.
    _own: Learned,
}

/// The forms that a client remembers. Those without an owner are in the order in which they lost
/// their last one. An exchange keeps the forms of its beginning.
type Known = Arc<Mutex<Arc<Vec<Form>>>>;

/// A secret in one of the forms in which a service may echo it.
#[derive(Clone)]
pub(super) struct Form {
    pub(super) text: Arc<str>,
    /// The number of values of [`Learned`] that own this form.
    owners: usize,
}

/// Owns the secrets of a request: the client remembers them at least until this value is dropped.
#[derive(Default)]
pub(crate) struct Learned {
    forms: Vec<Arc<str>>,
    known: Known,
}

impl Secrets {
    pub(crate) fn new(
        key: &HeaderValue,
        default_headers: &HeaderMap,
        webhook: Option<&Secret>,
    ) -> Self {
        let mut forms = Forms::default();
        forms.add(key.to_str().unwrap_or_default());
        for value in default_headers.values() {
            forms.add_signed(value.to_str().unwrap_or_default(), "");
        }
        if let Some(secret) = webhook {
            forms.add_signed(secret.reveal(), "");
        }
        let secrets = Self::default();
        Self { _own: secrets.remember(forms), ..secrets }
    }

    /// Remembers the secret fields of a request that is about to be sent, at least until the
    /// returned value is dropped.
    pub(crate) fn learn(&self, request: &Request) -> Learned {
        let mut forms = Forms::default();
        forms.add_fields(request, false);
        forms.0.retain(|form| form.len() >= SHORTEST_SECRET);
        self.remember(forms)
    }

    fn remember(&self, learned: Forms) -> Learned {
        if learned.0.is_empty() {
            return Learned::default();
        }
        let mut known = self.forms.lock();
        let known = Arc::make_mut(&mut known);
        let remember = |text: String| {
            if let Some(form) = known.iter_mut().find(|form| *form.text == *text) {
                form.owners += 1;
                return Arc::clone(&form.text);
            }
            let text = Arc::from(text);
            known.push(Form { text: Arc::clone(&text), owners: 1 });
            text
        };
        let forms = learned.0.into_iter().map(remember).collect();
        Learned { forms, known: Arc::clone(&self.forms) }
    }

    pub(super) fn known(&self) -> Arc<Vec<Form>> {
        Arc::clone(&self.forms.lock())
    }
}

impl Drop for Learned {
    /// Releases the forms, and forgets those that were released first if there are too many.
    fn drop(&mut self) {
        if self.forms.is_empty() {
            return;
        }
        let mut known = self.known.lock();
        let known = Arc::make_mut(&mut known);
        for text in &self.forms {
            if let Some(index) = known.iter().position(|form| form.text == *text) {
                let mut form = known.remove(index);
                form.owners -= 1;
                known.push(form);
            }
        }
        let released = known.iter().filter(|form| form.owners == 0).count();
        let mut excess = released.saturating_sub(MOST_RELEASED);
        known.retain(|form| {
            let is_forgotten = form.owners == 0 && excess > 0;
            excess -= usize::from(is_forgotten);
            !is_forgotten
        });
    }
}

/// Prints no secret.
impl fmt::Debug for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learned").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TaskRef, find_operation, transport::redaction::Redaction};

    #[test]
    fn secrets_are_remembered_as_long_as_their_requests_and_not_for_ever() {
        const ALIVE: usize = 300;
        let key = HeaderValue::from_static("KEY-1234");
        let secrets = Secrets::new(&key, &HeaderMap::new(), Some(&Secret::from("OWN-0001")));
        let operation = find_operation("gen-2-pro").unwrap();
        let learn = |secret: &str| {
            secrets.learn(&Request::new(operation).field("webhook_secret", secret.to_owned()))
        };
        let task = TaskRef::new("t1", "https://a.example/poll?id=t1", None);
        let url = task.polling_url().parse().unwrap();
        let is_known = |text: &str| Redaction::of_poll(&secrets, &task, &url).is_in(text);

        let mut owners: Vec<_> =
            (0..ALIVE).map(|number| learn(&format!("S-{number:04}"))).collect();
        owners.push(learn("S-0000"));
        owners.push(learn("KEY-1234"));
        assert!((0..ALIVE).all(|number| is_known(&format!("S-{number:04}"))));
        // The first secret still has another owner.
        drop(owners.remove(0));
        assert_eq!(secrets.known().len(), 2 + ALIVE);
        // The client still remembers the secrets that were released last, for tasks that are
        // resumed.
        owners.clear();
        assert_eq!(secrets.known().len(), 2 + MOST_RELEASED);
        for (text, expected) in [
            ("KEY-1234", true),
            ("OWN-0001", true),
            ("S-0000", true),
            ("S-0001", false),
            ("S-0299", true),
        ] {
            assert_eq!(is_known(text), expected, "{text}");
        }
        let again = learn("S-0299");
        (0..MOST_RELEASED).for_each(|number| drop(learn(&format!("T-{number:04}"))));
        assert!(is_known("S-0299") && !is_known("S-0298"));
        // A poll under way does not keep what the client forgets.
        let poll = Redaction::of_poll(&secrets, &task, &url);
        drop(again);
        assert_eq!(secrets.known().len(), 2 + MOST_RELEASED);
        // The secrets of a task that was dropped last are forgotten last, however old it is.
        let old = learn("L-0000");
        (0..MOST_RELEASED).for_each(|number| drop(learn(&format!("U-{number:04}"))));
        drop(old);
        drop(learn("V-0000"));
        assert!(is_known("L-0000") && !is_known("S-0299"));
        assert!(poll.is_in("S-0299"));
    }
}
