//! Completion scripts offer every model and every field.

use crate::bench::Place;
use imagekiln::operations;

#[test]
fn scripts_offer_every_model_and_field() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = place.run(&["completions", shell]).ok().text();
        for model in operations().iter().filter(|operation| operation.submits) {
            assert!(script.contains(model.name) || script.contains(model.id), "{shell}: {model}");
            for field in model.fields {
                // Fish writes long flags as `-l width`.
                let flag = field.name.replace('_', "-");
                assert!(
                    script.contains(&format!("--{flag}")) || script.contains(&format!("-l {flag}")),
                    "{shell}: {flag}"
                );
            }
        }
    }
    place.run(&["completions", "tcsh"]).fails(2);
    // The fields of every model follow `generate`, whatever `--model` is.
    let script = place.run(&["completions", "zsh"]).ok().text();
    let (_, generate) = script.split_once("(generate)\n").unwrap();
    let (generate, _) = generate.split_once(";;").unwrap();
    for flag in ["--guidance", "--input-image-8", "--aspect-ratio", "--mask"] {
        assert!(generate.contains(&format!("{flag}=")), "{flag}");
    }
}

#[cfg(unix)]
#[test]
fn bash_can_read_its_script() {
    let place = Place::new();
    place.write("kiln.bash", place.run(&["completions", "bash"]).ok().stdout);
    // The completions of `kiln run gen-2-` come from the script's own function.
    let command = concat!(
        "source kiln.bash; COMP_WORDS=(kiln run gen-2-); COMP_CWORD=2; ",
        "_kiln kiln gen-2- run; echo ${COMPREPLY[@]}",
    );
    let outcome = place.command("bash").args(["-c", command]).output().unwrap();
    let offered = String::from_utf8(outcome.stdout).unwrap();
    assert!(offered.split_whitespace().any(|word| word == "gen-2-klein-9b"), "{offered}");
}
