//! The ledger and the batch over real HTTP, against the simulator, on SQLite and on PostgreSQL.

mod acceptances;
mod archive;
mod broken;
mod budget;
mod commits;
mod control;
mod damaged;
mod decisions;
mod dispatch;
mod examples;
mod held;
mod identity;
mod journal;
mod keys;
mod killed;
mod ledger;
mod manage;
mod model;
mod outages;
mod outputs;
mod patience;
mod prices;
mod reading;
mod runs;
mod support;
mod tls;
mod webhooks;
mod workers;

fn main() {
    if killed::is_child() {
        return killed::run_child();
    }
    let tests = [
        // Those that take longest begin first, so that the others run beside them.
        examples::tests(),
        model::tests(),
        killed::tests(),
        held::tests(),
        acceptances::tests(),
        archive::tests(),
        broken::tests(),
        budget::tests(),
        commits::tests(),
        control::tests(),
        damaged::tests(),
        decisions::tests(),
        dispatch::tests(),
        dispatch::unknown::tests(),
        identity::tests(),
        journal::tests(),
        keys::tests(),
        ledger::tests(),
        manage::tests(),
        outages::tests(),
        outputs::tests(),
        patience::tests(),
        prices::tests(),
        reading::tests(),
        runs::tests(),
        tls::tests(),
        webhooks::tests(),
        workers::tests(),
    ];
    imagekiln_testbed::run(tests.into_iter().flatten().flatten().collect());
}
