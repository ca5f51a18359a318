//! Ordinary events of the services. They have random numbers of their own, so that the seeds that
//! found mistakes keep their faults.

use crate::world::World;

/// What happens to every service now and then. Each run has some of them, at random.
pub(crate) const EVENTS: [&str; 6] =
    ["idle-close", "idle-close=1", "spurious-forbidden", "stale-status", "damaged", OUTAGE];

/// It begins within a minute of the start of a run, and lasts for up to two.
const OUTAGE: &str = "outage";

impl World {
    /// Draws events of the services in this run.
    pub(crate) fn events(&mut self) -> Vec<String> {
        let mut events = Vec::new();
        let mut random = self.stream("events");
        for _ in 0..random.usize(0..3) {
            let event = EVENTS[random.usize(0..EVENTS.len())];
            let often = ["0.1", "0.4", "always"][random.usize(0..3)];
            let (after, lasting) = (random.f64() * 60.0, random.f64() * 120.0);
            if !self.has(event) {
                continue;
            }
            let event = if event == OUTAGE {
                let from = self.services.now().as_secs_f64() + after;
                format!("{event}={from:.1}..{:.1}", from + lasting + 0.1)
            } else {
                format!("{event}:{often}")
            };
            self.tell(format!("event {event}"));
            events.push(event);
        }
        events
    }
}
