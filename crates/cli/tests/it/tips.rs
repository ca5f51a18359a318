//! What people type instead of a command: each word gets the tip that they would expect. Prompts
//! that look like something else.

use crate::bench::{Bench, Place};

/// Words after `kiln`, and what the only tip contains.
const TIPS: &[(&str, &str)] = &[
    ("init", "'kiln setup'"),
    ("configure", "'kiln setup'"),
    ("auth", "'kiln setup'"),
    ("token", "'kiln setup'"),
    ("login", "'kiln config login'"),
    ("logout", "'kiln config logout'"),
    ("signout", "'kiln config logout'"),
    ("whoami", "'kiln doctor'"),
    ("test", "'kiln doctor'"),
    ("balance", "'kiln spending'"),
    ("credits", "'kiln spending'"),
    ("usage", "'kiln spending'"),
    ("cost", "'--dry-run'"),
    ("price", "'--dry-run'"),
    ("status", "'kiln history'"),
    ("list", "'kiln history'"),
    ("ls", "'kiln history'"),
    ("log", "'kiln history'"),
    ("logs", "'kiln history'"),
    ("ps", "'kiln history'"),
    ("view", "'kiln show @3'"),
    ("info", "'kiln show @3'"),
    ("open", "'kiln show @3 --open'"),
    ("image", "'kiln generate PROMPT'"),
    ("imagine", "'kiln generate PROMPT'"),
    ("create", "'kiln generate PROMPT'"),
    ("Draw", "'kiln generate PROMPT'"),
    ("txt2img", "'kiln generate PROMPT'"),
    ("img2img", "'kiln edit PROMPT IMAGE...'"),
    ("variations", "'kiln again @3 --vary"),
    ("upscale", "'kiln tool expand IMAGE'"),
    ("sharpen", "'kiln tool deblur IMAGE'"),
    ("inpaint", "'kiln tool inpaint'"),
    ("outpaint", "'kiln tool outpaint'"),
    ("expand", "'kiln tool expand'"),
    ("erase", "'kiln tool erase'"),
    ("deblur", "'kiln tool deblur'"),
    ("try-on", "'kiln tool try-on'"),
    ("video", "'kiln tool video'"),
    ("submit", "'kiln task submit'"),
    ("save", "'kiln task save'"),
    ("wait", "'kiln task wait'"),
    ("dismiss", "'kiln task dismiss'"),
    ("resolve", "'kiln task resolve' or 'kiln batch resolve'"),
    ("jobs", "'kiln batch jobs'"),
    ("limits", "'kiln batch limits'"),
    ("queue", "'kiln batch run FILE'"),
    ("cancel", "cancels no task"),
    ("undo", "cancels no task"),
    ("delete", "'kiln task dismiss @3'"),
    ("rm", "'kiln task dismiss @3'"),
    ("download", "'kiln resume'"),
    ("get", "'kiln resume'"),
    ("fetch", "'kiln resume'"),
    ("redo", "'kiln again @3'"),
    ("retry", "'kiln again @3'"),
    ("model", "'kiln models'"),
    ("serve", "'kiln simulate'"),
    ("settings", "'kiln config'"),
    ("profiles", "'kiln config profiles'"),
    ("completions", "'kiln config completions'"),
    ("man", "'kiln config man'"),
    ("help-me", "'kiln --help'"),
    ("generat", "'generate'"),
    ("genrate", "'generate'"),
    ("histroy", "'history'"),
    ("modles", "'models'"),
    ("confg", "'config'"),
    ("docter", "'doctor'"),
    ("simulat", "'simulate'"),
    ("btach", "'batch'"),
    ("a red fox", "'kiln generate PROMPT'"),
    ("赤い狐", "'kiln generate PROMPT'"),
    ("gen-2-pro", "'kiln run gen-2-pro'"),
    ("config show", "'kiln config'"),
    ("config key", "'kiln config login'"),
    ("batch pause", "'kiln batch limits --pause'"),
    ("batch unpause", "'kiln batch limits --unpause'"),
    ("batch resume", "'kiln batch run'"),
    ("batch budget", "--budget"),
    ("batch price", "--price"),
    ("batch max-active", "--max-active"),
    ("batch rate", "--rate"),
    ("batch cancel", "'kiln batch jobs cancel'"),
    ("batch priority", "'kiln batch jobs priority'"),
    ("batch retry", "'kiln batch jobs retry'"),
    ("batch forget", "'kiln batch jobs forget'"),
    ("batch archive", "'kiln batch jobs archive'"),
    ("batch delete", "'kiln batch jobs archive'"),
    ("batch list", "'kiln batch status --all'"),
    ("batch jobs list", "'kiln batch status --all'"),
    ("task list-all", "'list'"),
    ("task delete", "'kiln task dismiss @3'"),
];

#[test]
fn every_misspelt_or_foreign_word_has_the_tip_that_people_expect() {
    let place = Place::new();
    let mut wrong = Vec::new();
    for (line, expected) in TIPS {
        let words: Vec<&str> = match line.split_once(' ') {
            Some(("a", _)) => vec![line],
            _ => line.split(' ').collect(),
        };
        let said = place.run(&words).fails(2).stderr;
        let tips: Vec<_> = said.lines().filter(|line| line.starts_with("  tip: ")).collect();
        if tips.len() != 1 || !tips[0].contains(expected) {
            wrong.push(format!("{line}: {said}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn prompts_without_spaces_between_words_are_prompts() {
    let bench = Bench::new();
    let small = ["--width=64", "--height=64"];
    let japanese = "雪の中の赤い狐";
    let chinese = "一只猫";
    bench.run(&[&["generate", japanese, chinese][..], &small].concat()).ok();
    let tasks = bench.simulator.tasks();
    let mut prompts: Vec<_> =
        tasks.iter().map(|task| task.request["prompt"].as_str().unwrap().to_owned()).collect();
    prompts.sort();
    assert_eq!(prompts, [chinese, japanese]);
}

#[test]
fn single_words_are_prompts_if_the_user_says_so() {
    let bench = Bench::new();
    bench.run("generate fox owl cat --yes -s 64x64").ok();
    assert_eq!(bench.simulator.counts().accepted, 3);
}

#[test]
fn two_prompts_of_a_single_word_are_prompts_of_a_script() {
    let bench = Bench::new();
    let small = ["--width=64", "--height=64"];
    let made = bench.run(&[&["generate", "fox", "owl", "-n", "2"][..], &small].concat()).ok();
    let note = "2 prompts: `fox` and `owl`; one prompt of several words needs quotes";
    made.says(note);
    assert_eq!(bench.simulator.counts().accepted, 4);
    let tasks = bench.simulator.tasks();
    let of = |prompt: &str| tasks.iter().filter(|task| task.request["prompt"] == prompt).count();
    assert_eq!([of("fox"), of("owl")], [2, 2]);
}
