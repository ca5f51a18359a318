//! `kiln setup`: asks for the base URL and the API key, stores and checks them, and offers to make
//! a first picture.

use super::{
    config::{check, without_place},
    doctor, generate, login,
};
use crate::{
    context::Context,
    failure::{Exit, Failure},
    models,
    output::report,
    process::{
        Interrupts, Process,
        question::{self, ask, confirm},
    },
    seeing,
    settings::{Settings, key, names::BASE_URL},
    text::printable,
};

pub const STEPS: &str = "\
    Asks for the base URL of the service and the API key, and stores them as `kiln config set \
    base_url` and `kiln config login` do: for --profile NAME, those of this profile. Then it runs \
    the checks of `kiln doctor`, and offers to make a first picture. Nothing is sent that costs \
    anything unless you agree to it. Enter keeps what is stored, so the command can be repeated.";

const PROMPT: &str = "a red fox in the snow";

pub async fn run(context: &Context) -> Result<u8, Failure> {
    let process = context.process();
    if !question::can_ask(process) {
        return Err(Failure::usage("could not ask for the settings: this is not a terminal")
            .advise(
                "run `kiln config set base_url URL`, and pipe the key into `kiln config login`",
            ));
    }
    let mut context = context.clone();
    context.settings = context.settings.with_file()?;
    let interrupts = Interrupts::listen(process)?;
    let url = base_url(process, &interrupts, &context.settings).await?;
    let key = api_key(process, &interrupts, &context.settings).await?;
    store(&context, url, key)?;
    context.settings = context.settings.reload()?;
    let interrupted = || Failure::interrupted_input().advise("the settings are stored");
    let code = tokio::select! {
        code = doctor::run(&context) => code?,
        () = interrupts.first() => return Err(interrupted()),
    };
    if code != u8::from(Exit::Success) {
        let again = context.settings.setup_command();
        context.output.note(&format!("the settings are stored; `{again}` changes them"));
        return Ok(code);
    }
    let question = "Make a first picture? It costs credits; the price is not known before the \
                    service accepts the request";
    let is_wanted = confirm(process, &interrupts, question)
        .await
        .map_err(|failure| failure.advise("the settings are stored, and nothing was charged"))?;
    if is_wanted {
        // Exactly as `kiln generate` does.
        let model = context.settings.model().unwrap_or_else(models::default);
        let words = [generate::NAME, PROMPT].into_iter();
        let words = words.chain(seeing::can_show(&context).then_some("--show"));
        let matches = generate::command(model).try_get_matches_from(words)?;
        generate::execute(&context, &matches).await?;
    } else {
        context.output.note(&format!("`kiln generate \"{PROMPT}\"` makes one later"));
    }
    Ok(Exit::Success.into())
}

/// Asks until the user types a base URL that a client accepts. Enter alone stands for the one in
/// effect.
async fn base_url(
    process: &Process,
    interrupts: &Interrupts,
    settings: &Settings,
) -> Result<String, Failure> {
    let default = settings.text(&BASE_URL);
    let shown = BASE_URL.without_secrets(default.iter().cloned().collect()).pop();
    let shown = shown.map(|text| format!(" [{}]", printable(&text)));
    let question = format!("Base URL of the service{}", shown.unwrap_or_default());
    loop {
        let line = ask(process, interrupts, &question, false).await?;
        let url = match line.trim() {
            "" => default.clone().unwrap_or_default(),
            url => url.to_owned(),
        };
        match check(settings, &BASE_URL, std::slice::from_ref(&url)) {
            Ok(()) => return Ok(url),
            Err(failure) => complain(process, &without_place(failure)),
        }
    }
}

/// Asks until the user types a text that can be a key. Returns `None` for Enter alone, which keeps
/// the key in effect.
async fn api_key(
    process: &Process,
    interrupts: &Interrupts,
    settings: &Settings,
) -> Result<Option<String>, Failure> {
    let source = key::source(settings);
    let shown = source.as_ref().map(|source| format!(" [Enter keeps that of {source}]"));
    let question =
        format!("API key of profile `{}`{}", settings.profile.name, shown.unwrap_or_default());
    loop {
        let line = ask(process, interrupts, &question, true).await?;
        if line.trim().is_empty() && source.is_some() {
            return Ok(None);
        }
        match login::parse(&line) {
            Ok(key) => return Ok(Some(key)),
            Err(failure) => complain(process, &failure),
        }
    }
}

fn complain(process: &Process, failure: &Failure) {
    process.line_on_stderr(&report(failure, process.stderr.paint()));
}

fn store(context: &Context, url: String, key: Option<String>) -> Result<(), Failure> {
    let path = context.settings.path()?;
    context.settings.edit(&BASE_URL, &[url])?;
    let url_stored = format!("the base URL is stored in {}", path.display());
    context.output.note(&url_stored);
    if let Some(key) = key {
        let again = context.settings.setup_command();
        let file = login::store(context, &key)
            .map_err(|failure| failure.advise(format!("{url_stored}; run `{again}` again")))?;
        context.output.note(&format!("the API key is stored in {}", file.display()));
    }
    Ok(())
}
