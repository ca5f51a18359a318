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
    let script = place.run(&["completions", "zsh"]).ok().text();
    let after = |command: &str| {
        let (_, rest) = script.split_once(&format!("({command})\n")).unwrap();
        rest.split_once(";;").unwrap().0.to_owned()
    };
    // The fields of every model follow `generate`, whatever `--model` is.
    let generate = after("generate");
    for flag in ["--guidance", "--input-image-8", "--aspect-ratio", "--mask"] {
        assert!(generate.contains(&format!("{flag}=")), "{flag}");
    }
    // So do those of the models that can do a task, except for its arguments.
    let inpaint = after("inpaint");
    for flag in ["--mask", "--steps", "--finetune-id"] {
        assert!(inpaint.contains(&format!("{flag}=")), "{flag}");
    }
    for flag in ["--image", "--prompt", "--aspect-ratio"] {
        assert!(!inpaint.contains(&format!("{flag}=")), "{flag}");
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
