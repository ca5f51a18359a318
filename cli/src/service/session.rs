//! The client of a command: connected to the service that the settings name, or to an in-process
//! simulator.

use std::{sync::Arc, time::Duration};

use rustls::{ClientConfig, RootCertStore, crypto::ring};
use rustls_platform_verifier::BuilderVerifierExt;

use super::{Recordings, Retries};
use crate::{
    context::Context,
    failure::Failure,
    history::{Entry, History},
    settings::names::{DELIVERY_HOSTS, POLLING_HOSTS},
};
use imagekiln::{Client, ClientBuilder, Error, Request, SubmitOptions, Task};
use imagekiln_simulator::{Config, Simulator, StartError};

/// A client, its journal, and its simulator if it runs in this process.
pub struct Session {
    pub client: Client,
    /// `None` if nothing is to be recorded.
    pub history: Option<History>,
    _simulator: Option<Simulator>,
}

impl Session {
    /// Creates the client; nothing is sent.
    pub async fn open(context: &Context) -> Result<Self, Failure> {
        Self::recorded(context, None).await
    }

    /// Creates a client whose journal is the history; nothing is sent.
    pub async fn recorded(context: &Context, history: Option<History>) -> Result<Self, Failure> {
        let (builder, simulator) = client(context).await?;
        let builder = builder.middleware(Retries::new(&context.output));
        let builder = match &history {
            Some(history) => builder.journal(history.journal()),
            None => builder,
        };
        Ok(Self { client: builder.build()?, history, _simulator: simulator })
    }

    /// Submits the request of a picture of this command.
    pub async fn submit(
        &self,
        index: usize,
        request: Request,
        deadline: Duration,
    ) -> Result<Task, Error> {
        let options = SubmitOptions::default().deadline(deadline);
        let options = match &self.history {
            Some(history) => options.origin(history.origin(index)),
            None => options,
        };
        self.client.submit_with(request, options).await
    }

    /// The last submission for a picture of this command, if there is a history.
    pub fn submission(&self, index: usize) -> Option<Entry> {
        self.history.as_ref()?.submission(index)
    }
}

/// Returns the settings of a client, and the simulator that must exist as long as the client.
/// Nothing is sent.
pub async fn client(context: &Context) -> Result<(ClientBuilder, Option<Simulator>), Failure> {
    let options = &context.shared;
    let (builder, simulator) = if options.simulate {
        let simulator = simulator(Config::default()).await?;
        let builder = Client::builder()
            .api_key(simulator.api_key())
            .base_url(simulator.base_url())
            .regional_base_url(simulator.regional_base_url());
        (builder, Some(simulator))
    } else {
        (context.settings.service()?, None)
    };
    let hosts = context.hosts(&options.allow_polling_host, &POLLING_HOSTS).into_iter();
    let builder = hosts.fold(builder, |builder, host| builder.allow_polling_host(host));
    let hosts = context.hosts(&options.allow_delivery_host, &DELIVERY_HOSTS).into_iter();
    let builder = hosts.fold(builder, |builder, host| builder.allow_delivery_host(host));
    let builder = match &options.record {
        Some(path) => builder.recorder(Recordings::create(path, &context.output)?),
        None => builder,
    };
    let tls = tls(!options.simulate)?;
    let builder = builder.http_client(move |http| http.tls_backend_preconfigured(tls.clone()));
    Ok(((context.process().client)(builder), simulator))
}

/// Starts a simulator. Without a seed its ids are unique across runs, so that a task kept from an
/// earlier run is never mistaken for another one.
pub async fn simulator(config: Config) -> Result<Simulator, Failure> {
    let seed = config.seed.unwrap_or_else(|| fastrand::u64(..).into());
    Simulator::start(Config { seed: Some(seed), ..config }).await.map_err(|error| match error {
        StartError::NotLoopback { address } => {
            Failure::settings(format!("{address} is reachable from other machines"))
                .advise("add --allow-remote if that is intended, or listen on 127.0.0.1")
        }
        StartError::Setting { setting, problem } => {
            let setting = setting.replace('_', " ");
            Failure::settings(format!("invalid {setting} of the simulator: {problem}"))
                .advise("`kiln simulate --help` lists the options")
        }
        StartError::Listen { address, source } => Failure::file(
            format!("the simulator could not listen on {address}"),
            source,
        )
        .advise(
            "another simulator may be running; choose another port with --port; 0 picks free ones",
        ),
        other => Failure::other("could not start the simulator", &other),
    })
}

/// The TLS configuration of the HTTP clients: rustls with ring, for the shortest cold build. The
/// SDK leaves this choice to the program because it applies to the whole process. A simulator needs
/// no certificates, so a system without any is an error only if `is_needed`.
pub fn tls(is_needed: bool) -> Result<ClientConfig, Failure> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure::other("could not set up TLS", &error))?;
    let builder = match builder.clone().with_platform_verifier() {
        Ok(verified) => verified,
        Err(error) if is_needed => {
            return Err(Failure::other("could not read the system's certificates", &error)
                .advise("install them; on many systems the package is ca-certificates"));
        }
        Err(_) => builder.with_root_certificates(RootCertStore::empty()),
    };
    let mut config = builder.with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
