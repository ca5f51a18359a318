//! The tools and what a model reads about them. Every client sends all of it with each request to
//! its model, so it is short: a test counts it.

use rmcp::model::Tool;

/// What a client tells its model about the server.
pub const INSTRUCTIONS: &str = "\
Pictures cost credits of the person and take seconds to minutes. The same call is the same \
picture: after a timeout or a lost result, repeat exactly the same call; it never pays twice. Say \
that a picture is done only if its state is `saved`.";

const DEFINITIONS: &str = include_str!("tools.json");

/// The definitions of all tools.
pub fn all() -> Vec<Tool> {
    serde_json::from_str(DEFINITIONS).unwrap_or_default()
}
