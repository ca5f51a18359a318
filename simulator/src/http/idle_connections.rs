//! The idle connections of a listener. Their number is limited, because each one takes about
//! 20 KiB, and clients can leave any number of them idle.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

/// The connections of a listener that wait for a request.
pub(crate) struct IdleConnections<C> {
    max: usize,
    queue: Mutex<Queue<C>>,
}

struct Queue<C> {
    /// The number of the next slot.
    next: u64,
    /// Those that have waited longest come first.
    slots: BTreeMap<u64, Weak<C>>,
}

/// The slot of a connection, as long as it is idle.
pub(crate) struct IdleSlot<C> {
    number: u64,
    connections: Arc<IdleConnections<C>>,
}

impl<C> IdleConnections<C> {
    pub(crate) fn new(max: usize) -> Arc<Self> {
        let queue = Queue { next: 0, slots: BTreeMap::new() };
        Arc::new(Self { max, queue: Mutex::new(queue) })
    }

    fn queue(&self) -> MutexGuard<'_, Queue<C>> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a connection. If there are too many, those that have waited longest lose their slots
    /// and are returned.
    pub(super) fn enter(self: &Arc<Self>, connection: Weak<C>) -> (IdleSlot<C>, Vec<Weak<C>>) {
        let mut excess = Vec::new();
        let mut queue = self.queue();
        let number = queue.next;
        queue.next += 1;
        queue.slots.insert(number, connection);
        while queue.slots.len() > self.max
            && let Some((_, longest)) = queue.slots.pop_first()
        {
            excess.push(longest);
        }
        (IdleSlot { number, connections: Arc::clone(self) }, excess)
    }
}

impl<C> Drop for IdleSlot<C> {
    fn drop(&mut self) {
        self.connections.queue().slots.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_have_waited_longest_make_room() {
        let idle = IdleConnections::new(2);
        let connections: Vec<_> = (1..5).map(Arc::new).collect();
        let enter = |number: usize| {
            let (slot, excess) = idle.enter(Arc::downgrade(&connections[number - 1]));
            (slot, excess.iter().filter_map(Weak::upgrade).map(|number| *number).collect())
        };
        let (first, excess): (_, Vec<usize>) = enter(1);
        assert!(excess.is_empty());
        let (second, _) = enter(2);
        let (third, excess) = enter(3);
        assert_eq!(excess, [1]);
        drop(second);
        let (fourth, excess) = enter(4);
        assert!(excess.is_empty());
        drop((first, third, fourth));
        assert!(idle.queue().slots.is_empty());
    }
}
