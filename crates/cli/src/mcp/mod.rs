//! `kiln mcp`: a server of the Model Context Protocol, whose tools make pictures. Models repeat
//! calls, forget results and lose connections. The key of a call therefore follows from what the
//! call asks for, so that a repeated call pays nothing. The server waits for each picture until it
//! is saved, even if the client has left.

mod asking;
mod budget;
mod calls;
mod folders;
mod http;
mod keys;
mod requests;
mod resources;
mod results;
mod simulated;
mod work;

use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};

use clap::{Args, ValueHint};
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CancelTaskParams, GetTaskParams, GetTaskResult,
        Implementation, ListResourceTemplatesResult, ListResourcesResult, ListToolsResult,
        PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
        ReadResourceResult, ServerCapabilities, ServerConfig,
    },
    service::RequestContext,
    transport::io::stdio_pipes,
};

use serde_json::Value;

pub use self::budget::Limits;
use self::{budget::Budget, folders::Folders, work::Jobs};
use crate::{
    context::Context,
    failure::Failure,
    history::{self, History},
    process::Interrupts,
    service::Session,
    text::{deadline, duration},
};

/// What a client tells its model about the server. Every client sends this and the definitions of
/// the tools with each request to its model, so both are short: a test counts them.
const INSTRUCTIONS: &str = "\
Pictures cost credits of the person and take seconds to minutes. The same call is the same \
picture: after a timeout or a lost result, repeat exactly the same call; it never pays twice. Say \
that a picture is done only if its state is `saved`.";

/// How long to wait at the end for the responses to submissions in flight.
const LAST_RESPONSES: Duration = Duration::from_secs(10);

/// The rules that the person has set.
#[derive(Args)]
pub struct Rules {
    #[command(flatten)]
    pub limits: Limits,
    /// A folder that may be read and written; pictures go to the first one [default: the working
    /// directory]
    #[arg(long = "folder", value_name = "DIR", value_hint = ValueHint::DirPath)]
    folders: Vec<PathBuf>,
    /// Let images be http(s) URLs, which the service fetches
    #[arg(long)]
    allow_urls: bool,
    /// Serve clients of this machine over HTTP, with the token that is printed, until Ctrl-C
    #[arg(long, value_name = "ADDRESS", hide_short_help = true)]
    pub listen: Option<SocketAddr>,
    /// How long a call waits for its picture before it returns without it [default: 25s]
    #[arg(long, value_name = "DURATION", value_parser = deadline, hide_short_help = true)]
    #[arg(default_value = "25s", hide_default_value = true)]
    answer_within: Duration,
    /// How long the same call is the same picture, which is not paid again [default: 24h]
    #[arg(long, value_name = "DURATION", value_parser = duration, hide_short_help = true)]
    #[arg(default_value = "24h", hide_default_value = true)]
    same_for: Duration,
}

struct Server {
    context: Context,
    session: Session,
    history: History,
    folders: Folders,
    budget: Budget,
    rules: Rules,
    jobs: Jobs,
    interrupts: Interrupts,
}

impl Server {
    /// Returns what is left of the budget.
    fn left(&self) -> Value {
        self.budget.to_json(self.context.process())
    }
}

/// Serves the client on standard input and output until it leaves and all its pictures are saved,
/// or the clients over HTTP until a signal arrives.
pub async fn serve(context: &Context, rules: Rules) -> Result<(), Failure> {
    let (context, _simulated) = simulated::context(context).await?;
    let Some(history) = context.history(Vec::new())? else {
        return Err(Failure::usage("`kiln mcp` needs the history, by which it pays once")
            .advise("unset KILN_NO_HISTORY"));
    };
    let lock = history::directory(context.process())?.join("mcp.lock");
    let server = Arc::new(Server {
        session: Session::recorded(&context, Some(history.clone())).await?,
        folders: Folders::of(context.process(), &rules.folders)?,
        budget: Budget::new(rules.limits, lock),
        interrupts: Interrupts::listen(context.process())?,
        jobs: Jobs::default(),
        context,
        history,
        rules,
    });
    server.resume_all()?;
    let clients = async {
        match server.rules.listen {
            Some(address) => http::serve(&server, address).await?,
            // A client that leaves before it has sent anything is not an error.
            None => {
                if let Ok(running) = Handler(Arc::clone(&server)).serve(stdio_pipes()).await {
                    let _ = running.waiting().await;
                }
            }
        }
        server.jobs.ended().await;
        Ok(())
    };
    let served = tokio::select! {
        () = server.interrupts.first() => Ok(()),
        served = clients => served,
    };
    let client = &server.session.client;
    client.stop_retrying_submissions();
    // A submission that is still in flight after that stays unknown in the history.
    let _ = client.drain(LAST_RESPONSES).await;
    served
}

#[derive(Clone)]
struct Handler(Arc<Server>);

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_resources().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("kiln", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tools = serde_json::from_str(include_str!("tools.json")).unwrap_or_default();
        Ok(ListToolsResult::with_all_items(tools))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        Ok(calls::call(&self.0, request, &context).await)
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = calls::task(&self.0, &request.task_id).await;
        task.map(GetTaskResult::new).map_err(|failure| invalid(&failure))
    }

    /// Does nothing: the picture is paid for, so the server still saves it.
    async fn cancel_task(
        &self,
        _request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let resources = resources::list(&self.0).map_err(|failure| invalid(&failure))?;
        Ok(ListResourcesResult::with_all_items(resources))
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(resources::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = resources::read(&self.0, &request.uri).await;
        let missing =
            |failure: Failure| ErrorData::resource_not_found(failure.message.clone(), None);
        let read = read.map_err(missing)?;
        Ok(ReadResourceResult::new(vec![read]).into())
    }
}

fn invalid(failure: &Failure) -> ErrorData {
    ErrorData::invalid_params(failure.message.clone(), None)
}
