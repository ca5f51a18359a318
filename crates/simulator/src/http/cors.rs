//! Lets web pages of other origins call the service.

use axum::{
    Router,
    http::{HeaderValue, Method},
};
use tower_http::cors::{AllowHeaders, AllowOrigin, CorsLayer, ExposeHeaders};

/// Lets pages of these origins call the router, or pages of any origin if `*` is among them.
pub(crate) fn allow(origins: &[String], router: Router) -> Router {
    if origins.is_empty() {
        return router;
    }
    let origins = if origins.iter().any(|origin| origin == "*") {
        AllowOrigin::any()
    } else {
        AllowOrigin::list(origins.iter().filter_map(|origin| HeaderValue::try_from(origin).ok()))
    };
    let layer = CorsLayer::new()
        .allow_origin(origins)
        .allow_methods([Method::GET, Method::HEAD, Method::POST])
        .allow_headers(AllowHeaders::mirror_request())
        .expose_headers(ExposeHeaders::any());
    router.layer(layer)
}
