//! `/logLevel`: reads the log level of a module, or changes it until the process ends. The page is
//! Hadoop's, which `hadoop daemonlog` reads.
//!
//! **Permission.** The page has no HTTP authentication, so it cannot verify the user. With user
//! checks (`ozone.acl.enabled`) levels cannot be changed; otherwise only clients on this host may
//! change them. Requests that a page of another site makes through a browser on this host, or that
//! arrive through a proxy on it, are refused.

use std::net::{IpAddr, SocketAddr};

use axum::Router;
use axum::extract::{ConnectInfo, Query, State};
use axum::http::header::{FORWARDED, HOST, ORIGIN, REFERER, VIA};
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use config::Configuration;
use config::keys::om::OZONE_ACL_ENABLED;
use config::keys::trioxide::TRIOXIDE_LOG_FILTER;

use super::html::escape;
use crate::logging;

const FORMS: &str = "<br /><hr /><h3>Get / Set</h3>\n\
    <form>Class Name: <input type='text' size='50' name='log' /> <input type='submit' value='Get Log Level' /></form>\n\
    <form>Class Name: <input type='text' size='50' name='log' /> Level: <input type='text' name='level' /> <input type='submit' value='Set Log Level' /></form>\n\
    <hr />\n";

/// Reasons for refusing a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Refusal {
    /// Users are checked, and cannot be authenticated.
    NoAuthentication,
    /// The request is from another host, or was forwarded for one.
    Elsewhere,
    /// A page of another site made a browser send it.
    OtherSite,
}

impl Refusal {
    fn text(self) -> String {
        let (filter, judged) = (TRIOXIDE_LOG_FILTER.name(), OZONE_ACL_ENABLED.name());
        match self {
            Self::NoAuthentication => format!(
                "log levels cannot be changed here: users are checked ({judged}), and HTTP does not authenticate them; set {filter} and restart the process\n"
            ),
            Self::Elsewhere => format!(
                "log levels can be changed from this host only: open http://127.0.0.1:PORT/logLevel there, without a proxy, or set {filter} and restart the process\n"
            ),
            Self::OtherSite => {
                "log levels cannot be changed by a page of another site; open /logLevel itself\n"
                    .to_owned()
            }
        }
    }
}

/// True if users are checked.
#[derive(Debug, Clone, Copy)]
struct Judged(bool);

/// The route.
pub(super) fn route(conf: &Configuration) -> Router {
    let judged = Judged(conf.get(&OZONE_ACL_ENABLED));
    Router::new().route("/logLevel", get(show)).with_state(judged)
}

/// The reason why this request may not change a level, if any.
fn refusal(judged: Judged, peer: SocketAddr, headers: &HeaderMap) -> Option<Refusal> {
    let text = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    if judged.0 {
        return Some(Refusal::NoAuthentication);
    }
    let sent_on = [FORWARDED.as_str(), VIA.as_str(), "x-forwarded-for", "x-real-ip"];
    if !peer.ip().to_canonical().is_loopback() || sent_on.iter().any(|name| text(name).is_some()) {
        return Some(Refusal::Elsewhere);
    }
    // Only numeric addresses: another site's host name may resolve to this host, too.
    let host = text(HOST.as_str());
    if host.is_some_and(|host| !is_this_host(host)) {
        return Some(Refusal::Elsewhere);
    }
    let origins = [ORIGIN.as_str(), REFERER.as_str()];
    let from_elsewhere = |origin: &str| {
        let origin = origin.parse::<Uri>().ok();
        let origin = origin.as_ref().and_then(Uri::authority).map(|a| a.as_str());
        origin.is_none() || origin != host
    };
    let by_browser =
        text("sec-fetch-site").is_some_and(|site| !matches!(site, "none" | "same-origin"));
    if by_browser || origins.iter().filter_map(|name| text(name)).any(from_elsewhere) {
        return Some(Refusal::OtherSite);
    }
    None
}

/// Returns `true` if a `Host` header is a loopback address or `localhost`.
fn is_this_host(host: &str) -> bool {
    let Ok(uri) = host.parse::<Uri>() else { return false };
    let Some(name) = uri.host() else { return false };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    name.eq_ignore_ascii_case("localhost")
        || address.is_ok_and(|ip| ip.to_canonical().is_loopback())
}

async fn show(
    State(judged): State<Judged>,
    ConnectInfo(peer): ConnectInfo<SocketAddr>,
    Query(query): Query<Vec<(String, String)>>,
    headers: HeaderMap,
) -> Response {
    let value = |wanted: &str| {
        let found = query.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
    if value("level").is_some()
        && let Some(refusal) = refusal(judged, peer, &headers)
    {
        tracing::warn!(%peer, reason = ?refusal, "log level change refused");
        return (StatusCode::FORBIDDEN, refusal.text()).into_response();
    }
    let mut page = String::from("<html>\n<title>Log Level</title>\n<body>\n<h1>Log Level</h1>\n");
    if let Some(name) = value("log") {
        page.push_str("<br /><hr /><h3>Results</h3>\n");
        let mut line = |text: String| page.push_str(&format!("<!-- OUTPUT -->{text}<br />\n"));
        line(format!("Submitted Class Name: <b>{}</b>", escape(name)));
        let target = logging::target_of(name);
        line(format!("Log Class: <b>{}</b>", escape(&target)));
        if let Some(level) = value("level") {
            line(format!("Submitted Level: <b>{}</b>", escape(level)));
            match logging::set_level(&target, level) {
                Ok(()) => line(format!("Setting Level to {} ...", escape(level))),
                Err(e) => line(format!(
                    "Bad Level : <b>{}</b> ({})",
                    escape(level),
                    escape(&e.to_string())
                )),
            }
        }
        line(format!("Effective Level: <b>{}</b>", logging::level(&target)));
    }
    page.push_str(FORMS);
    page.push_str("</body></html>\n");
    Html(page).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    #[test]
    fn a_level_is_changed_from_this_host_alone_and_by_nobody_where_users_are_judged() {
        let (here, there) = ("127.0.0.1:40000", "10.1.2.3:40000");
        let (elsewhere, other_site) = (Some(Refusal::Elsewhere), Some(Refusal::OtherSite));
        let unproven = Some(Refusal::NoAuthentication);
        type Case<'a> = (bool, &'a str, &'a [(&'a str, &'a str)], Option<Refusal>);
        let cases: &[Case<'_>] = &[
            (false, here, &[], None),
            (false, here, &[("host", "127.0.0.1:9874")], None),
            (false, here, &[("host", "localhost")], None),
            (false, "[::1]:40000", &[("host", "[::1]:9874")], None),
            (false, "[::ffff:127.0.0.1]:40000", &[], None),
            (false, there, &[], elsewhere),
            (false, there, &[("host", "127.0.0.1:9874")], elsewhere),
            (false, "[::ffff:10.1.2.3]:40000", &[], elsewhere),
            // A proxy on this host.
            (false, here, &[("x-forwarded-for", "10.1.2.3")], elsewhere),
            (false, here, &[("forwarded", "for=10.1.2.3")], elsewhere),
            (false, here, &[("via", "1.1 proxy")], elsewhere),
            // A name that resolves to loopback.
            (false, here, &[("host", "evil.example:9874")], elsewhere),
            (false, here, &[("host", "127.0.0.1.evil.example")], elsewhere),
            (false, here, &[("host", "")], elsewhere),
            // A page that a browser on this host shows.
            (false, here, &[("sec-fetch-site", "cross-site")], other_site),
            (false, here, &[("sec-fetch-site", "same-site")], other_site),
            (false, here, &[("sec-fetch-site", "same-origin")], None),
            (false, here, &[("sec-fetch-site", "none")], None),
            (
                false,
                here,
                &[("host", "localhost:1"), ("origin", "http://evil.example")],
                other_site,
            ),
            (false, here, &[("host", "localhost:1"), ("origin", "null")], other_site),
            (
                false,
                here,
                &[("host", "localhost:1"), ("referer", "http://localhost:2/x")],
                other_site,
            ),
            (
                false,
                here,
                &[("host", "localhost:1"), ("referer", "http://localhost:1/logLevel")],
                None,
            ),
            // Any client, any form of request.
            (true, here, &[], unproven),
            (true, there, &[], unproven),
        ];
        for (judged, peer, given, expected) in cases {
            let mut headers = HeaderMap::new();
            for (name, value) in *given {
                headers.insert(name.parse::<HeaderName>().unwrap(), value.parse().unwrap());
            }
            let refused = refusal(Judged(*judged), peer.parse().unwrap(), &headers);
            assert_eq!(refused, *expected, "{judged} {peer} {given:?}");
        }
    }
}
