//! The secrets that a client remembers from one exchange to the next.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, PoisonError, RwLock, RwLockWriteGuard},
};

use reqwest::header::{HeaderMap, HeaderValue};

use super::{Forms, SHORTEST_SECRET};
use crate::{Request, Secret};

/// The number of forms of secrets that a client still remembers after the tasks of their requests
/// were dropped. A program may resume such a task from its reference, which does not contain the
/// secrets, and the service may echo them in a poll.
const MOST_RELEASED: usize = 100;

/// The secrets that a client redacts in responses: its key, the values of its default headers, its
/// webhook secret, and the secret fields of its requests, which the service may echo in polls.
pub(crate) struct Secrets(Arc<RwLock<Memory>>);

#[derive(Default)]
struct Memory {
    forms: Arc<Vec<Arc<str>>>,
    /// The number of owners of each form. A form without an owner has no entry.
    owners: HashMap<Arc<str>, usize>,
    /// The forms without an owner, oldest first.
    released: VecDeque<Arc<str>>,
}

/// Owns the secrets of a request: the client remembers them at least until this value is dropped.
#[derive(Default)]
pub(crate) struct Learned {
    forms: Vec<Arc<str>>,
    memory: Arc<RwLock<Memory>>,
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
        let mut memory = Memory::default();
        // The client owns these forms for as long as it exists: nothing releases them.
        forms.0.into_iter().for_each(|form| memory.own(&form.into()));
        Self(Arc::new(RwLock::new(memory)))
    }

    /// Remembers the secret fields of a request that is about to be sent, at least until the
    /// returned value is dropped.
    pub(crate) fn learn(&self, request: &Request) -> Learned {
        let mut forms = Forms::default();
        forms.add_fields(request, false);
        forms.0.retain(|form| form.len() >= SHORTEST_SECRET);
        let forms: Vec<Arc<str>> = forms.0.into_iter().map(Into::into).collect();
        if !forms.is_empty() {
            let mut memory = write(&self.0);
            forms.iter().for_each(|form| memory.own(form));
        }
        Learned { forms, memory: Arc::clone(&self.0) }
    }

    pub(super) fn known(&self) -> Arc<Vec<Arc<str>>> {
        Arc::clone(&self.0.read().unwrap_or_else(PoisonError::into_inner).forms)
    }
}

impl Memory {
    fn own(&mut self, form: &Arc<str>) {
        if let Some(owners) = self.owners.get_mut(form) {
            *owners += 1;
            return;
        }
        self.owners.insert(Arc::clone(form), 1);
        match self.released.iter().position(|released| released == form) {
            Some(index) => drop(self.released.remove(index)),
            None => Arc::make_mut(&mut self.forms).push(Arc::clone(form)),
        }
    }

    fn release(&mut self, form: &Arc<str>) {
        match self.owners.get_mut(form) {
            Some(owners) if *owners > 1 => *owners -= 1,
            Some(_) => {
                self.owners.remove(form);
                self.released.push_back(Arc::clone(form));
            }
            None => {}
        }
        if self.released.len() > MOST_RELEASED
            && let Some(oldest) = self.released.pop_front()
        {
            Arc::make_mut(&mut self.forms).retain(|form| *form != oldest);
        }
    }
}

impl Drop for Learned {
    fn drop(&mut self) {
        if !self.forms.is_empty() {
            let mut memory = write(&self.memory);
            self.forms.iter().for_each(|form| memory.release(form));
        }
    }
}

/// Prints no secret.
impl fmt::Debug for Learned {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Learned").finish_non_exhaustive()
    }
}

fn write(memory: &RwLock<Memory>) -> RwLockWriteGuard<'_, Memory> {
    memory.write().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{TaskRef, transport::redaction::Redaction};

    #[test]
    fn secrets_are_remembered_as_long_as_their_requests_and_not_for_ever() {
        const ALIVE: usize = 300;
        let key = HeaderValue::from_static("KEY-1234");
        let secrets = Secrets::new(&key, &HeaderMap::new(), Some(&Secret::from("OWN-0001")));
        let operation = crate::find_operation("gen-2-pro").unwrap();
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
        drop(again);
        assert_eq!(secrets.known().len(), 2 + MOST_RELEASED);
    }
}
