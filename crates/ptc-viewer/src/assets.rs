//! The files of the page, which are in the binary.

use std::sync::Arc;

use axum::extract::{Path, State};
use axum::http::{StatusCode, header};
use axum::response::{Html, IntoResponse, Response};

use crate::Site;

const PAGE: &str = include_str!("../assets/index.html");

/// Where the page finds the token.
const TOKEN: &str = "{{token}}";

macro_rules! files {
    ($($name:literal),* $(,)?) => {
        &[("palette.css", ptc_http::PALETTE), $(($name, include_str!(concat!("../assets/", $name)))),*]
    };
}

const FILES: &[(&str, &str)] = files![
    "theme.js",
    "app.js",
    "dom.js",
    "format.js",
    "highlight.js",
    "edn.js",
    "value.js",
    "keys.js",
    "api.js",
    "runs.js",
    "run.js",
    "turns.js",
    "prompt.js",
    "agents.js",
    "outline.js",
    "flame.js",
    "diff.js",
    "playground.js",
    "style.css",
    "icon.svg",
];

/// The page itself.
pub async fn page(State(site): State<Arc<Site>>) -> Html<String> {
    Html(PAGE.replace(TOKEN, &site.token))
}

/// A file that the page uses.
pub async fn asset(Path(name): Path<String>) -> Response {
    let Some((_, text)) = FILES.iter().find(|(known, _)| *known == name) else {
        return (StatusCode::NOT_FOUND, "there is no such file").into_response();
    };
    let kind = match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "image/svg+xml",
    };
    ([(header::CONTENT_TYPE, kind)], *text).into_response()
}
