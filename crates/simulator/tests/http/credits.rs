//! What submissions cost, and when they are rejected.

use std::time::Duration;

use serde_json::json;

use super::{
    bench::{Bench, Response, png, small},
    contract::submissions,
};
use imagekiln_simulator::{Config, Credits};

/// A simulator whose only project has these additional settings.
async fn project(organization: &str, settings: &str) -> Bench {
    let text = format!(
        "[[organizations]]\nname = 'Default'\n{organization}\n\
         [[organizations.projects]]\nname = 'Default'\n{settings}\n"
    );
    Bench::with(Config::from_toml(&text).unwrap()).await
}

fn balance(bench: &Bench) -> u64 {
    bench.sim.organizations()[0].balance.hundredths()
}

#[tokio::test]
async fn every_response_has_cost_and_megapixels() {
    let bench = Bench::new().await;
    let mut charged = 0.0;
    for submission in submissions() {
        let response = bench.submit(&submission.path, &submission.full()).await;
        for field in ["cost", "input_mp", "output_mp"] {
            let number = response[field]
                .as_f64()
                .unwrap_or_else(|| panic!("{field} of {}: {response}", submission.path));
            assert!(
                ((number * 100.0).round() - number * 100.0).abs() < 1e-6,
                "two decimal places: {response}"
            );
        }
        charged += response["cost"].as_f64().unwrap();
    }
    assert_eq!(bench.sim.counts().charged.hundredths(), (charged * 100.0).round() as u64);
}

#[tokio::test]
async fn prices_follow_the_configured_table() {
    let config = Config::from_toml(
        "[prices]\nsubmission = 2\ninput_megapixel = 0.5\noutput_megapixel = 1.01\n\
         [prices.of.'gen-2-*']\nsubmission = 10\n[prices.of.'gen-2-flex']\noutput_megapixel = 0\n",
    );
    let bench = Bench::with(config.unwrap()).await;
    let body = json!({ "prompt": "x", "width": 1024, "height": 512, "input_image": png(512, 512) });
    for (path, cost) in [
        // 10 + 0.25 input MP at 0.5 + 0.5 output MP at 1.01, each rounded up to the hundredth.
        ("/v1/gen-2-pro", 10.0 + 0.13 + 0.51),
        ("/v1/gen-2-flex", 2.0 + 0.13),
        ("/v1/gen-kontext-pro", 2.0 + 0.13 + 1.01),
    ] {
        let mut body = body.clone();
        if path.contains("kontext") {
            body = json!({ "prompt": "x", "aspect_ratio": "1:1", "input_image": png(512, 512) });
        }
        let response = bench.submit(path, &body).await;
        assert_eq!(
            response["cost"].as_f64().map(|cost| (cost * 100.0).round()),
            Some((cost * 100.0f64).round()),
            "{path}"
        );
        assert_eq!(response["input_mp"], 0.25);
    }
    let large = json!({ "prompt": "x", "width": 1920, "height": 1088 });
    assert_eq!(bench.submit("/v1/gen-2-pro", &large).await["output_mp"], 1.99);
}

#[tokio::test]
async fn a_mask_is_no_input_that_is_paid_for() {
    let bench = Bench::new().await;
    let body = json!({ "prompt": "a hat", "image": png(512, 512), "mask": png(512, 512) });
    assert_eq!(bench.submit("/v1/gen-pro-1.0-fill", &body).await["input_mp"], 0.25);
    let open = json!({ "person": png(512, 512), "mask": png(512, 512) });
    assert_eq!(bench.submit("/v1/gen-tools/vto-v1", &open).await["input_mp"], 0.25);
}

fn refusal(response: &Response, status: u16) -> String {
    assert_eq!(response.status, status, "{response:?}");
    response.json()["detail"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn submissions_without_credits_are_not_accepted_or_charged() {
    let bench = project("credits = 7.05", "").await;
    for _ in 0..2 {
        bench.submit("/v1/gen-2-pro", &small("x")).await;
    }
    let detail = refusal(&bench.post("/v1/gen-2-pro", &small("x")).await, 402);
    assert_eq!(
        detail,
        "Insufficient credits: the submission costs 3.00, and the organization has 1.05"
    );
    let counts = bench.sim.counts();
    assert_eq!(
        (counts.accepted, counts.charged.hundredths(), counts.refused_with(402)),
        (2, 600, 1)
    );
    assert_eq!(balance(&bench), 105);
    assert_eq!(bench.sim.tasks().len(), 2);
}

#[tokio::test]
async fn the_status_code_of_unpaid_submissions_is_a_setting() {
    let bench = Bench::with(Config {
        unpaid_status: 403,
        ..Config::from_toml("organizations = [{ name = 'Default', credits = 0 }]").unwrap()
    })
    .await;
    refusal(&bench.post("/v1/gen-2-pro", &small("x")).await, 403);
}

#[tokio::test]
async fn limits_are_not_exceeded_and_reset_with_each_period() {
    for (period, days) in [("daily", 1), ("weekly", 7), ("monthly", 31)] {
        let bench = project("", &format!("limits = {{ {period} = 6.5 }}")).await;
        for _ in 0..2 {
            bench.submit("/v1/gen-2-pro", &small("x")).await;
        }
        let detail = refusal(&bench.post("/v1/gen-2-pro", &small("x")).await, 402);
        assert!(detail.contains(&format!("the project's {period} limit of 6.50")), "{detail}");
        bench.sim.clock().advance(Duration::from_secs(days * 86_400));
        bench.submit("/v1/gen-2-pro", &small("x")).await;
        assert_eq!(bench.sim.counts().charged, Credits::from_hundredths(900));
    }
}

#[tokio::test]
async fn limits_can_be_reached_in_each_calendar_day_week_and_month() {
    const DAY: Duration = Duration::from_secs(86_400);
    let bench = project("", "limits = { daily = 6, monthly = 9 }").await;
    let clock = bench.sim.clock();
    clock.set_speed(0.0);
    let to = |unix: Duration| clock.advance(unix - clock.unix_now());
    let spent = || {
        let spent = bench.sim.organizations()[0].projects[0].spent;
        [spent.daily, spent.weekly, spent.monthly].map(|credits| credits.hundredths())
    };
    let refused = async |limit: &str| {
        let detail = refusal(&bench.post("/v1/gen-2-pro", &small("x")).await, 402);
        assert!(detail.ends_with(&format!("the project's {limit}")), "{detail}");
    };
    // 2150-01-29.
    let thursday = 65_772 * DAY;
    to(thursday);
    for _ in 0..2 {
        bench.submit("/v1/gen-2-pro", &small("x")).await;
    }
    to(thursday + DAY - Duration::from_secs(1));
    assert_eq!(spent(), [600, 600, 600]);
    refused("daily limit of 6.00").await;
    to(thursday + DAY);
    assert_eq!(spent(), [0, 600, 600], "Friday");
    bench.submit("/v1/gen-2-pro", &small("x")).await;
    refused("monthly limit of 9.00").await;
    to(thursday + 2 * DAY);
    assert_eq!(spent(), [0, 900, 900]);
    to(thursday + 3 * DAY);
    assert_eq!(spent(), [0, 900, 0], "Sunday, 1 February");
    to(thursday + 4 * DAY);
    assert_eq!(spent(), [0, 0, 0], "Monday");
}

#[tokio::test]
async fn a_failed_task_is_charged_once() {
    let bench = project("credits = 100", "").await;
    let task = bench.submit("/v1/gen-2-pro", &small("[[error]]")).await;
    for _ in 0..3 {
        assert_eq!(bench.finish(&task).await["status"], "Error");
    }
    assert_eq!(balance(&bench), 9700);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_submissions_never_overspend_credits() {
    let bench = std::sync::Arc::new(project("credits = 30", "").await);
    let mut submissions = tokio::task::JoinSet::new();
    for _ in 0..40 {
        let bench = std::sync::Arc::clone(&bench);
        submissions
            .spawn(async move { bench.post("/v1/gen-2-pro", &small("x")).await.status.as_u16() });
    }
    let statuses = submissions.join_all().await;
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 10);
    assert_eq!(statuses.iter().filter(|status| **status == 402).count(), 30);
    assert_eq!((balance(&bench), bench.sim.counts().charged.hundredths()), (0, 3000));
}
