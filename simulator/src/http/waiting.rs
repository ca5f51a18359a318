//! The connections that wait for a request. Their number is limited, because each one takes about
//! 20 KiB, and clients can leave any number of them idle.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use super::activity::{Activity, Cut};

/// The waiting connections of a listener.
pub(crate) struct Waiting {
    max: usize,
    queue: Mutex<Queue>,
}

#[derive(Default)]
struct Queue {
    /// The number of the next place.
    next: u64,
    /// Those that have waited longest come first.
    places: BTreeMap<u64, Weak<Activity>>,
}

/// The place of a connection, as long as it waits.
pub(crate) struct Place {
    number: u64,
    waiting: Arc<Waiting>,
}

impl Waiting {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self { max, queue: Mutex::default() })
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. If there are too many, those that have waited longest are closed.
    pub(super) fn enter(self: &Arc<Self>, connection: Weak<Activity>) -> Place {
        let mut closed = Vec::new();
        let number = {
            let mut queue = self.queue();
            let number = queue.next;
            queue.next += 1;
            queue.places.insert(number, connection);
            while queue.places.len() > self.max
                && let Some((_, longest)) = queue.places.pop_first()
            {
                closed.push(longest);
            }
            number
        };
        for connection in closed.iter().filter_map(Weak::upgrade) {
            // A request may have arrived in this moment.
            if connection.is_idle() {
                connection.cut_with(Cut::Close);
            }
        }
        Place { number, waiting: Arc::clone(self) }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.waiting.queue().places.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn connections_that_have_waited_longest_are_closed() {
        let waiting = Waiting::new(2);
        let connections: Vec<_> =
            (0..3).map(|_| Activity::new(Duration::from_secs(1), Arc::clone(&waiting))).collect();
        let closed = |connections: &[Arc<Activity>]| {
            connections.iter().map(|connection| connection.cut()).collect::<Vec<_>>()
        };
        assert_eq!(closed(&connections), [Some(Cut::Close), None, None]);
        // The second one has a request, so that it does not wait. Then it waits again.
        connections[1].request_started(false);
        let work = connections[1].work();
        let fourth = Activity::new(Duration::from_secs(1), Arc::clone(&waiting));
        assert_eq!(closed(&connections[1..]), [None, None]);
        drop(work);
        assert_eq!(closed(&connections[1..]), [None, Some(Cut::Close)]);
        // Those that end leave their places.
        drop((connections, fourth));
        assert!(waiting.queue().places.is_empty());
    }
}
