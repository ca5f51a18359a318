//! The settings of a command. They come from its flags, the environment, the profile in
//! `config.toml`, the rest of `config.toml`, and defaults, in this order of precedence.

mod file;
pub mod key;
pub mod names;
pub mod presets;

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fmt,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

pub use self::file::named;
#[cfg(feature = "__fuzzing")]
pub use self::file::of_text;
use self::{
    file::File,
    names::{
        ASK_ABOVE, ASK_ABOVE_CREDITS, BASE_URL, DEADLINE, DESCRIBE, MAX_ACTIVE, MODEL,
        MODEL_PREFIX, Name, OUTPUT, REGIONAL_BASE_URL, SIZE, WEBHOOK_URL,
    },
    presets::Preset,
};
use crate::{
    failure::Failure,
    files::directory::{self, CONFIG_DIR_VARIABLE},
    models,
    process::Process,
    text::{duration, parse},
};
use imagekiln::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, Client, ClientBuilder, Operation,
    Request, WEBHOOK_SECRET_VARIABLE, text::hint,
};
use imagekiln_label::Price;

const CONFIG_FILE: &str = "config.toml";

/// The variable that chooses the profile of commands without `--profile`.
pub const PROFILE_VARIABLE: &str = "KILN_PROFILE";

/// The profile if neither `--profile` nor the environment chooses one.
pub const DEFAULT_PROFILE: &str = "default";

/// The rule for the names of profiles. Each name is also the name of a file, and some file systems
/// ignore case, so uppercase letters are not allowed.
const PROFILE_RULE: &str = "a name has 1 to 64 lowercase letters, digits, `-` and `_`";

type Set = fn(ClientBuilder, String) -> ClientBuilder;

/// The settings of the client that can be in the environment or the file, and how to set each one.
const SETTERS: [(Name, Set); 4] = [
    (BASE_URL, |builder, text| builder.base_url(text)),
    (REGIONAL_BASE_URL, |builder, text| builder.regional_base_url(text)),
    (MODEL_PREFIX, |builder, text| builder.model_prefix(text)),
    (WEBHOOK_URL, |builder, text| builder.webhook_url(text)),
];

/// The settings in the environment and in `config.toml`.
#[derive(Clone)]
pub struct Settings {
    process: Arc<Process>,
    pub profile: Profile,
    /// The directory of `config.toml` and the keys. `None` if there is no home directory.
    directory: Option<PathBuf>,
    file: File,
}

/// The profile of a command: a set of settings with its own API key.
#[derive(Debug, Clone)]
pub struct Profile {
    pub name: String,
    /// The flag or the variable that chose the profile, or the default.
    pub source: Source,
}

impl Profile {
    /// The profile that `--profile` or else the environment names, or the default profile.
    pub fn chosen(process: &Process, flag: Option<&str>) -> Result<Self, Failure> {
        let (name, source) = match (flag, process.variable(PROFILE_VARIABLE)) {
            (Some(name), _) => (name.to_owned(), Source::Flag("--profile")),
            (None, Some(name)) => {
                (name.to_string_lossy().into_owned(), Source::Variable(PROFILE_VARIABLE))
            }
            (None, None) => (DEFAULT_PROFILE.to_owned(), Source::Default),
        };
        if is_profile(&name) {
            Ok(Self { name, source })
        } else {
            Err(Failure::settings(format!("{source} is not the name of a profile"))
                .advise(PROFILE_RULE))
        }
    }

    /// The name of the profile whose section of `config.toml` is edited. `None` for the default
    /// profile, whose settings are outside of all sections, and apply to all profiles.
    pub fn section(&self) -> Option<&str> {
        (self.name != DEFAULT_PROFILE).then_some(&*self.name)
    }
}

fn is_profile(name: &str) -> bool {
    let is_plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    (1..=64).contains(&name.len()) && name.bytes().all(is_plain)
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    Flag(&'static str),
    Variable(&'static str),
    /// The file in which `kiln config login` stored the key.
    Login,
    Profile(String),
    File,
    Default,
}

#[derive(Debug)]
pub struct Found {
    pub texts: Vec<String>,
    pub source: Source,
}

impl Settings {
    /// Reads the settings of the profile that the flag or else the environment names.
    pub fn load(process: &Arc<Process>, profile: Option<&str>) -> Result<Self, Failure> {
        Self::without_file(process, profile)?.reload()
    }

    /// Reads `config.toml`, even if it was read before. Fails if the profile does not exist.
    pub fn reload(&self) -> Result<Self, Failure> {
        let settings = self.with_file()?;
        settings.check_profile()?;
        Ok(settings)
    }

    /// Like [`reload`](Self::reload), but accepts a profile that does not exist yet.
    pub fn with_file(&self) -> Result<Self, Failure> {
        let file = self.path().map_or_else(|_| Ok(File::default()), |path| file::read(&path))?;
        Ok(Self { file, ..self.clone() })
    }

    pub fn of_profile(&self, name: &str) -> Self {
        let profile = Profile { name: name.to_owned(), source: Source::Default };
        Self { profile, ..self.clone() }
    }

    /// Sets a setting of the profile in `config.toml`, or removes it if there are no texts. Returns
    /// whether that changed the file.
    pub fn edit(&self, name: &Name, texts: &[String]) -> Result<bool, Failure> {
        file::edit(&self.path()?, self.profile.section(), name, texts)
    }

    /// Writes a preset to `config.toml`, or removes it.
    pub fn edit_preset(&self, name: &str, preset: Option<&Preset>) -> Result<(), Failure> {
        file::edit_preset(&self.path()?, name, preset)
    }

    /// The settings without those of `config.toml`, for commands that must work even if the file is
    /// invalid.
    pub fn without_file(process: &Arc<Process>, profile: Option<&str>) -> Result<Self, Failure> {
        let profile = Profile::chosen(process, profile)?;
        let (process, directory) = (Arc::clone(process), directory::config(process));
        Ok(Self { process, profile, directory, file: File::default() })
    }

    /// Refuses a profile that has neither settings nor a key, because its name is probably
    /// misspelled.
    fn check_profile(&self) -> Result<(), Failure> {
        let Profile { name, source } = &self.profile;
        let known = self.profiles();
        if name == DEFAULT_PROFILE || known.contains(name) {
            return Ok(());
        }
        let known = known.iter().map(String::as_str);
        let problem = format!("there is no profile `{name}` ({source}){}", hint(name, known));
        let advice = format!("run `{}` to create it", self.setup_command());
        Err(Failure::settings(problem).advise(advice))
    }

    /// The names of the profiles in `config.toml`, and of those with a stored key.
    pub fn profiles(&self) -> BTreeSet<String> {
        let with_key = self.directory.iter().flat_map(|directory| key::profiles(directory));
        self.file.profiles.keys().cloned().chain(with_key).collect()
    }

    /// The path of `config.toml`, which may not exist.
    pub fn path(&self) -> Result<PathBuf, Failure> {
        Ok(self.directory()?.join(CONFIG_FILE))
    }

    /// The directory of `config.toml` and the keys, which may not exist.
    pub fn directory(&self) -> Result<&Path, Failure> {
        self.directory.as_deref().ok_or_else(|| {
            let problem = "could not find a directory for settings: there is no home directory";
            Failure::settings(problem).advise(format!("set {CONFIG_DIR_VARIABLE} to a directory"))
        })
    }

    /// The path of the file in which `kiln config login` stores the key of the profile. The file
    /// may not exist.
    pub fn key_file(&self) -> Result<PathBuf, Failure> {
        let name = format!("{}{}", self.profile.name, key::ENDING);
        Ok(self.directory()?.join(key::DIRECTORY).join(name))
    }

    /// Finds a setting in the environment or in the file. Empty variables count as unset.
    pub fn find(&self, name: &Name) -> Option<Found> {
        let variable = name.variable.and_then(|variable| {
            let text = text(&self.process, variable).ok().flatten()?;
            Some(Found { texts: vec![text], source: Source::Variable(variable) })
        });
        let in_file = |profile: Option<&str>, source: Source| {
            let texts = self.file.entry(profile, name)?.texts.clone();
            Some(Found { texts, source })
        };
        let profile = &self.profile.name;
        variable
            .or_else(|| in_file(Some(profile), Source::Profile(profile.clone())))
            .or_else(|| in_file(None, Source::File))
    }

    /// The text of a setting that is not a list.
    pub fn text(&self, name: &Name) -> Option<String> {
        self.find(name)?.texts.pop()
    }

    pub fn list(&self, name: &Name) -> Vec<String> {
        self.find(name).map(|found| found.texts).unwrap_or_default()
    }

    /// The model of commands without `--model`.
    pub fn model(&self) -> Option<&'static Operation> {
        models::find(&self.text(&MODEL)?)
    }

    /// The default of `--output`. `~/` at its beginning stands for the home directory.
    pub fn output(&self) -> Option<OsString> {
        let text = self.text(&OUTPUT)?;
        let home = || directory::home(&self.process);
        let in_home = text.strip_prefix("~/").and_then(|rest| Some(home()?.join(rest)));
        Some(in_home.map_or(text.into(), PathBuf::into_os_string))
    }

    pub fn deadline(&self) -> Option<Duration> {
        duration(&self.text(&DEADLINE)?).ok()
    }

    /// The default of `--max-active` for a batch.
    pub fn max_active(&self) -> Option<u16> {
        self.text(&MAX_ACTIVE)?.parse().ok()
    }

    /// The maximum number of pictures that a command makes without asking first.
    pub fn ask_above(&self) -> usize {
        let text = self.text(&ASK_ABOVE).unwrap_or_else(|| ASK_ABOVE.default.to_owned());
        text.parse().unwrap_or_default()
    }

    /// The maximum number of credits that a command spends without asking first, if there is a
    /// limit.
    pub fn ask_above_credits(&self) -> Option<f64> {
        parse::credits(&self.text(&ASK_ABOVE_CREDITS)?).ok()
    }

    /// The prices that the user has set, by operation.
    pub fn prices(&self) -> std::collections::BTreeMap<String, Price> {
        let prices = self.list(&names::PRICES);
        let prices = prices.iter().filter_map(|text| names::price(text).ok());
        prices.map(|(operation, price)| (operation.to_owned(), price)).collect()
    }

    /// The price of a request in credits, if the user has set the price of its operation.
    pub fn price_of(&self, request: &Request) -> Option<f64> {
        Some(self.prices().get(request.operation().name)?.of(request))
    }

    /// Whether to describe pictures even without `--describe`.
    pub fn describe(&self) -> bool {
        self.text(&DESCRIBE).is_some_and(|text| text == "true")
    }

    pub fn size(&self) -> Option<[u32; 2]> {
        parse::size(&self.text(&SIZE)?).ok()
    }

    /// The settings of a client without its key, for requests that are not sent.
    pub fn unsent(&self) -> Result<ClientBuilder, Failure> {
        let about = |name| {
            move |mut failure: Failure| {
                failure.setting = Some(name);
                failure
            }
        };
        let mut builder = Client::builder();
        for (name, set) in &SETTERS {
            if let Some(variable) = name.variable {
                text(&self.process, variable).map_err(about(variable))?;
            }
            if let Some(value) = self.text(name) {
                builder = set(builder, value);
            }
        }
        let secret = text(&self.process, WEBHOOK_SECRET_VARIABLE);
        let secret = secret.map_err(about(WEBHOOK_SECRET_VARIABLE))?;
        let builder = secret.into_iter().fold(builder, ClientBuilder::webhook_secret);
        let allowed = flag(&self.process, ALLOW_HTTP_VARIABLE);
        Ok(builder.allow_http(allowed.map_err(about(ALLOW_HTTP_VARIABLE))?))
    }

    /// The settings of a client with its key. Fails if the key or the base URL is not set.
    pub fn service(&self) -> Result<ClientBuilder, Failure> {
        let (what, variables) = match (key::find(self)?, self.find(&BASE_URL)) {
            (None, None) => (
                "the API key and the base URL are not set",
                format!("{API_KEY_VARIABLE} and {BASE_URL_VARIABLE}"),
            ),
            (None, Some(_)) => ("the API key is not set", API_KEY_VARIABLE.to_owned()),
            (Some(_), None) => ("the base URL is not set", BASE_URL_VARIABLE.to_owned()),
            (Some(key), Some(_)) => {
                for name in [&BASE_URL, &REGIONAL_BASE_URL] {
                    check_end(name, &self.text(name).unwrap_or_default())?;
                }
                return Ok(self.unsent()?.api_key(key));
            }
        };
        Err(Failure::settings(what).advise(format!(
            "run `{}` or set {variables}; or add --simulate to use an in-process simulator",
            self.setup_command()
        )))
    }

    /// The command that asks the user for the missing settings.
    pub fn setup_command(&self) -> String {
        let profile = self.profile.section().map(|profile| format!(" --profile {profile}"));
        format!("kiln setup{}", profile.unwrap_or_default())
    }

    /// The settings of a client with only this setting. Building that client checks the text.
    /// `None` if clients do not have the setting.
    pub fn trial(&self, name: &Name, text: &str) -> Result<Option<ClientBuilder>, Failure> {
        let Some((_, set)) = SETTERS.iter().find(|(known, _)| known.name == name.name) else {
            return Ok(None);
        };
        check_end(name, text)?;
        let any = Client::builder().api_key("any").base_url("http://localhost");
        let any = any.allow_http(flag(&self.process, ALLOW_HTTP_VARIABLE)?);
        Ok(Some(set(any, text.to_owned())))
    }

    /// Adds the place of the setting that caused a failure to the advice: a line of `config.toml`,
    /// or a variable.
    pub fn explain(&self, mut failure: Failure) -> Failure {
        let Some(variable) = failure.setting.take() else { return failure };
        let is_in_file = |name: &&Name| {
            let found = self.find(name);
            found.is_some_and(|found| !matches!(found.source, Source::Variable(_)))
        };
        let mut names = SETTERS.iter().map(|(name, _)| name);
        let in_file = names.find(|name| name.variable == Some(variable)).filter(is_in_file);
        let place = match (in_file, self.path()) {
            (Some(name), Ok(path)) => format!("`{}` in {}", name.name, path.display()),
            _ => variable.to_owned(),
        };
        let advice = failure.advice.take().unwrap_or_else(|| "correct it".to_owned());
        failure.advise(format!("{advice} ({place})"))
    }
}

/// Refuses a base URL that ends with `/v1`: every request adds a path that begins with `/v1`, and
/// no path would exist below such a base URL.
fn check_end(name: &Name, url: &str) -> Result<(), Failure> {
    let is_base = name.name.ends_with("base_url");
    if is_base && url.trim().trim_end_matches('/').ends_with("/v1") {
        let problem = "the base URL ends with /v1, which every request adds itself";
        let mut failure =
            Failure::settings(problem).advise("nothing was sent; remove /v1 from its end");
        failure.setting = name.variable;
        return Err(failure);
    }
    Ok(())
}

/// Returns a variable that is not blank. The error does not quote the value, because it may be a
/// secret.
pub fn text(process: &Process, name: &str) -> Result<Option<String>, Failure> {
    let text = process.variable(name).map(OsString::into_string).transpose();
    let text = text.map_err(|_| Failure::settings(format!("{name} is not valid Unicode")))?;
    Ok(text.filter(|text| !text.trim().is_empty()))
}

pub fn flag(process: &Process, name: &str) -> Result<bool, Failure> {
    match text(process, name)?.as_deref().map(str::trim) {
        None | Some("0" | "false") => Ok(false),
        Some("1" | "true") => Ok(true),
        Some(_) => {
            let problem = format!("{name} must be `1`, `true`, `0` or `false`");
            Err(Failure::settings(problem).advise("set it to 1 or unset it"))
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) | Self::Variable(name) => f.write_str(name),
            Self::Login => f.write_str("kiln config login"),
            Self::Profile(name) => write!(f, "[profile.{name}] in config.toml"),
            Self::File => f.write_str("config.toml"),
            Self::Default => f.write_str("default"),
        }
    }
}
