//! `--simulate`: the same server beside a simulator, with a history of its own that ends with both.

use std::{collections::HashMap, ffi::OsString, io, sync::Arc};

use tempfile::TempDir;

use crate::{
    context::Context,
    failure::Failure,
    files::directory::STATE_DIR_VARIABLE,
    process::{Input, Process},
    service,
    settings::{Settings, key::API_KEY_FILE_VARIABLE},
};
use imagekiln::{API_KEY_VARIABLE, BASE_URL_VARIABLE, REGIONAL_BASE_URL_VARIABLE};
use imagekiln_simulator::{Config, Simulator};

/// Returns the context of the server. The server prints only errors, because clients show
/// everything that it prints as a problem. The caller must keep the simulator, if there is one, as
/// long as the context.
pub async fn context(
    context: &Context,
) -> Result<(Context, Option<(Simulator, TempDir)>), Failure> {
    let (mut globals, mut shared) = (context.globals.clone(), context.shared.clone());
    globals.quiet = true;
    if !shared.simulate {
        let process = Arc::clone(context.process());
        let settings = context.settings.reload()?;
        return Ok((Context::new(process, (globals, shared), settings, None), None));
    }
    shared.simulate = false;
    let simulator = service::simulator(Config::default()).await?;
    let state = TempDir::new().map_err(|error| {
        Failure::file("could not create a directory for the history of the simulator", error)
    })?;
    let variables = HashMap::from([
        (STATE_DIR_VARIABLE, state.path().into()),
        (API_KEY_VARIABLE, simulator.api_key().into()),
        (API_KEY_FILE_VARIABLE, OsString::new()),
        (BASE_URL_VARIABLE, simulator.base_url().into()),
        (REGIONAL_BASE_URL_VARIABLE, simulator.regional_base_url().into()),
    ]);
    // The server reads standard input itself, and nothing else may.
    let outer = Process { stdin: Input::new(io::empty()), ..(**context.process()).clone() };
    let variable = Arc::clone(&outer.variable);
    let variable =
        Arc::new(move |name: &str| variables.get(name).cloned().or_else(|| variable(name)));
    let process = Arc::new(Process { variable, ..outer });
    let settings = Settings::load(&process, globals.profile.as_deref())?;
    let context = Context::new(process, (globals, shared), settings, None);
    Ok((context, Some((simulator, state))))
}
