//! The memory that all request bodies may take together.

use std::sync::{Arc, Mutex, PoisonError};

/// The memory for request bodies.
pub(crate) struct BodyBudget {
    free: Mutex<usize>,
}

/// What one body takes. It is given back when this is dropped.
pub(crate) struct Share {
    budget: Arc<BodyBudget>,
    taken: usize,
}

/// The other bodies take too much.
#[derive(Debug)]
pub(crate) struct Exhausted;

impl BodyBudget {
    pub(crate) fn new(bytes: usize) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(bytes) })
    }

    pub(crate) fn share(self: &Arc<Self>) -> Share {
        Share { budget: Arc::clone(self), taken: 0 }
    }
}

impl Share {
    /// Takes more. A body may take as much as it leaves free, so that a few large ones do not keep
    /// out the small ones.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), Exhausted> {
        let mut free = self.budget.free.lock().unwrap_or_else(PoisonError::into_inner);
        let left = free.checked_sub(bytes).ok_or(Exhausted)?;
        if self.taken.saturating_add(bytes) > left {
            return Err(Exhausted);
        }
        *free = left;
        self.taken += bytes;
        Ok(())
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.budget.free.lock().unwrap_or_else(PoisonError::into_inner) += self.taken;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_leaves_as_much_free_and_is_given_back() {
        let budget = BodyBudget::new(100);
        let mut first = budget.share();
        first.take(30).unwrap();
        first.take(20).unwrap();
        assert!(first.take(1).is_err());
        let mut second = budget.share();
        assert!(second.take(26).is_err());
        second.take(25).unwrap();
        drop(first);
        second.take(12).unwrap();
        drop(second);
        budget.share().take(50).unwrap();
    }
}
