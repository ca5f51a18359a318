//! The settings of a client.

use super::{
    Settings, Source, flag, key,
    names::{BASE_URL, MODEL_PREFIX, Name, REGIONAL_BASE_URL, WEBHOOK_URL},
    text,
};
use crate::failure::Failure;
use imagekiln::{
    ALLOW_HTTP_VARIABLE, API_KEY_VARIABLE, BASE_URL_VARIABLE, Client, ClientBuilder,
    WEBHOOK_SECRET_VARIABLE,
};

type Set = fn(ClientBuilder, String) -> ClientBuilder;

/// The settings that the environment has, too.
const SETTERS: [(Name, Set); 4] = [
    (BASE_URL, |builder, text| builder.base_url(text)),
    (REGIONAL_BASE_URL, |builder, text| builder.regional_base_url(text)),
    (MODEL_PREFIX, |builder, text| builder.model_prefix(text)),
    (WEBHOOK_URL, |builder, text| builder.webhook_url(text)),
];

impl Settings {
    /// The client without its key, for requests that are not sent.
    pub fn unsent(&self) -> Result<ClientBuilder, Failure> {
        let about = |name| move |failure: Failure| failure.about_variable(name);
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
        if let Some(secret) = secret.map_err(about(WEBHOOK_SECRET_VARIABLE))? {
            builder = builder.webhook_secret(secret);
        }
        let allowed = flag(&self.process, ALLOW_HTTP_VARIABLE);
        Ok(builder.allow_http(allowed.map_err(about(ALLOW_HTTP_VARIABLE))?))
    }

    /// The client with its key.
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

    /// The command that asks for what is missing.
    pub fn setup_command(&self) -> String {
        let profile = self.profile.section().map(|profile| format!(" --profile {profile}"));
        format!("kiln setup{}", profile.unwrap_or_default())
    }

    /// A client with only this setting, whose construction checks the text. `None` if a client does
    /// not have the setting.
    pub fn trial(&self, name: &Name, text: &str) -> Result<Option<ClientBuilder>, Failure> {
        let Some((_, set)) = SETTERS.iter().find(|(known, _)| known.name == name.name) else {
            return Ok(None);
        };
        check_end(name, text)?;
        let any = Client::builder().api_key("any").base_url("http://localhost");
        let any = any.allow_http(flag(&self.process, ALLOW_HTTP_VARIABLE)?);
        Ok(Some(set(any, text.to_owned())))
    }

    /// Adds the source of the setting that a failure is about.
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

/// Refuses a base URL that ends with the first part of every path, because no path would exist
/// there.
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
