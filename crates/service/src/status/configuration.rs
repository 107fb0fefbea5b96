//! `/conf`: the configuration of a role in the format of Hadoop's ConfServlet: XML, or JSON for
//! clients that accept only that. Secrets are redacted.

use axum::Router;
use axum::extract::{Query, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use config::{Configuration, Entry, Origin};
use serde_json::{Value, json};

use super::html::escape;
use super::log_level;

/// Replaces a secret.
const REDACTED: &str = "<redacted>";
/// Name fragments of secret values, as in `hadoop.security.sensitive-config-keys`.
const SENSITIVE: [&str; 8] = [
    "secret",
    "password",
    "keystore.pass",
    "credential",
    "account.key",
    "oauth",
    "token",
    "keytab",
];

/// The routes that depend on the configuration: `/conf`, and `/logLevel`, which depends on user
/// checks.
pub(super) fn configuration(conf: &Configuration) -> Router {
    let shown = Router::new().route("/conf", get(show)).with_state(conf.clone());
    shown.merge(log_level::route(conf))
}

async fn show(
    State(conf): State<Configuration>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let name = query.iter().find(|(name, _)| name == "name").map(|(_, value)| value.as_str());
    let name = name.filter(|name| !name.is_empty());
    let accepted = headers.get(ACCEPT).and_then(|kinds| kinds.to_str().ok());
    let as_json = accepted.is_some_and(|kinds| kinds.contains("json") && !kinds.contains("xml"));
    let entries: Vec<Property> = match name {
        None => conf.entries().iter().map(Property::of).collect(),
        Some(name) => conf.entry(name).iter().map(Property::of).collect(),
    };
    let (status, text) = match (name, entries.as_slice()) {
        (Some(name), []) => (StatusCode::NOT_FOUND, not_found(name, as_json)),
        (Some(_), [property, ..]) if as_json => {
            (StatusCode::OK, json!({ "property": property.json() }).to_string())
        }
        (None, all) if as_json => {
            let all: Vec<Value> = all.iter().map(Property::json).collect();
            (StatusCode::OK, json!({ "properties": all }).to_string())
        }
        (_, all) => (StatusCode::OK, xml(all)),
    };
    let kind = match as_json {
        true => "application/json; charset=utf-8",
        false => "text/xml; charset=utf-8",
    };
    (status, [(CONTENT_TYPE, kind)], text).into_response()
}

struct Property {
    name: String,
    value: String,
    source: String,
}

impl Property {
    fn of(entry: &Entry) -> Self {
        let name = entry.key.to_ascii_lowercase();
        let secret = SENSITIVE.iter().any(|part| name.contains(part)) && !entry.value.is_empty();
        let source = match &entry.origin {
            Origin::Default => "ozone-default.xml".to_owned(),
            origin => origin.to_string(),
        };
        Self {
            name: entry.key.clone(),
            value: if secret { REDACTED.to_owned() } else { entry.value.clone() },
            source,
        }
    }

    fn json(&self) -> Value {
        json!({
            "key": self.name, "value": self.value, "isFinal": false, "resource": self.source,
        })
    }
}

const XML: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"no\"?>";

fn xml(properties: &[Property]) -> String {
    let mut text = format!("{XML}<configuration>\n");
    for Property { name, value, source } in properties {
        let (name, value, source) = (escape(name), escape(value), escape(source));
        text.push_str(&format!(
            "<property><name>{name}</name><value>{value}</value><final>false</final><source>{source}</source></property>\n"
        ));
    }
    text.push_str("</configuration>\n");
    text
}

fn not_found(name: &str, as_json: bool) -> String {
    let message = format!("Property {name} not found");
    match as_json {
        true => json!({ "error": message }).to_string(),
        false => format!("{XML}<error>{}</error>", escape(&message)),
    }
}
