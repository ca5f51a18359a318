//! Faults of the simulator that are ordinary events of a service: closed connections, outages, and
//! polls that disagree.

use imagekiln::{Billing, ErrorKind, types::Gen2Pro};
use imagekiln_simulator::Simulator;
use tokio::time;

use crate::{
    operations::{client_of, simulator},
    support::samples::{assert_billing, seconds},
};

async fn with_faults(faults: &[&str]) -> Simulator {
    let simulator = simulator().await;
    faults.iter().for_each(|fault| drop(simulator.faults().add(fault).unwrap()));
    simulator
}

fn small_fox() -> Gen2Pro {
    Gen2Pro::new("a red fox").width(64).height(64)
}

/// Saves some pictures, one after the other, and checks that each is paid for once.
async fn save(simulator: &Simulator, count: u64) {
    let (client, folder) = (client_of(simulator), tempfile::tempdir().unwrap());
    for number in 0..count {
        let task = client.submit(small_fox()).await.unwrap();
        let picture = task.wait().await.unwrap();
        picture.save(folder.path().join(format!("{number}.jpg"))).await.unwrap();
    }
    let counts = simulator.counts();
    assert_eq!((counts.accepted, counts.delivered), (count, count));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_closes_idle_connections_loses_no_picture() {
    for fault in ["idle-close=0", "idle-close=0.1"] {
        let simulator = with_faults(&[fault]).await;
        save(&simulator, 8).await;
        assert!(simulator.faults().applied()["idle-close"] >= 24);
    }
}

#[tokio::test(start_paused = true)]
async fn polls_that_disagree_delay_a_picture() {
    let faults = [
        "spurious-forbidden:2x",
        "stale-status:1x",
        "spurious-not-found:2x",
        "unknown-status:1x",
        "spurious-forbidden:1x",
    ];
    let simulator = with_faults(&faults).await;
    save(&simulator, 1).await;
    let applied: u64 = simulator.faults().applied().values().sum();
    assert_eq!(applied, 7, "{:?}", simulator.faults().applied());
}

#[tokio::test(start_paused = true)]
async fn an_outage_while_a_task_runs_delays_its_picture() {
    let simulator = with_faults(&["outage@poll=0..40"]).await;
    save(&simulator, 1).await;
    assert!(simulator.clock().now() >= seconds(40));
}

#[tokio::test(start_paused = true)]
async fn a_submission_during_an_outage_is_not_repeated() {
    let simulator = with_faults(&["outage@submission=0..60"]).await;
    let error = client_of(&simulator).submit(small_fox()).await.unwrap_err();
    assert_billing(&error, ErrorKind::Service, Billing::Unknown);
    assert_eq!(simulator.faults().applied()["outage"], 1);
    time::advance(seconds(60)).await;
    save(&simulator, 1).await;
}
