//! Batches whose ledgers are in PostgreSQL.

use std::process::{Command, Output};

use imagekiln_simulator::{Config, Simulator};
use imagekiln_testbed::{
    Runtime,
    postgres::{POSTGRES, cluster},
    run, test_of,
};

fn main() {
    let shared = a_ledger_is_shared_and_its_password_is_not_printed;
    run(vec![test_of(&[POSTGRES], Runtime::MultiThread, shared)]);
}

async fn a_ledger_is_shared_and_its_password_is_not_printed() {
    let simulator = Simulator::start(Config::default()).await.unwrap();
    let directory = tempfile::tempdir().unwrap();
    let url = cluster().create_database().replace("postgres@", "postgres:SECRET@");
    let kiln = |words: &[&str]| -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kiln"));
        command.arg("batch").args(words).args(["--ledger", &url]).current_dir(directory.path());
        command.env("KILN_CONFIG_DIR", directory.path());
        command.env("IMAGEKILN_API_KEY", simulator.api_key());
        command.env("IMAGEKILN_BASE_URL", simulator.base_url());
        let output = command.output().unwrap();
        for text in [&output.stdout, &output.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains("SECRET"), "{text}");
        }
        output
    };
    let fox = ["run", "--prompt", "a fox", "--prompt", "a wolf", "--width", "64", "--height", "64"];
    let stopped = kiln(&[&fox[..], &["-o", "one", "--budget", "3", "--price", "3"]].concat());
    assert_eq!(stopped.status.code(), Some(10), "{stopped:?}");
    assert!(kiln(&["run", "-o", "two"]).status.success());
    let text = |words: &[&str]| String::from_utf8(kiln(words).stdout).unwrap();
    let status = text(&["status", "--all"]);
    assert!(status.contains(" one/0") && status.contains(" two/0"), "{status}");
    assert_eq!(simulator.counts().accepted, 2);
    let limits = "the ledger: 6.00 of 9.00 credits; 0 active tasks\n";
    assert_eq!(text(&["limits", "--budget", "9"]), limits);
    assert_eq!(text(&["limits"]), limits);
    let spending = text(&["spending"]);
    assert!(spending.contains("gen-2-pro            2"), "{spending}");
    assert_eq!(text(&["jobs", "archive", "--older-than", "0"]), "2 jobs archived\n");
    assert_eq!(text(&["spending"]), spending);
}
