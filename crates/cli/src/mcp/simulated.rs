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
    let process = Arc::new(with_variables(Arc::clone(context.process()), variables));
    let settings = Settings::load(&process, globals.profile.as_deref())?;
    let context = Context::new(process, (globals, shared), settings, None);
    Ok((context, Some((simulator, state))))
}

/// Returns the process with other values of some variables.
fn with_variables(outer: Arc<Process>, variables: HashMap<&'static str, OsString>) -> Process {
    let [of_client, of_journal, of_seed] = [(); 3].map(|()| Arc::clone(&outer));
    Process {
        directory: outer.directory.clone(),
        home: outer.home.clone(),
        temporary: outer.temporary.clone(),
        stdin: Input::new(io::empty()),
        stdout: outer.stdout.clone(),
        stderr: outer.stderr.clone(),
        has_signals: outer.has_signals,
        client: Box::new(move |builder| (of_client.client)(builder)),
        journal: Box::new(move |path| (of_journal.journal)(path)),
        seed: Box::new(move |range| (of_seed.seed)(range)),
        variable: Box::new(move |name| {
            variables.get(name).cloned().or_else(|| (outer.variable)(name))
        }),
    }
}
