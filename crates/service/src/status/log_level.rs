//! `/logLevel`: which level of log lines a part of the process writes, and another one for it until
//! the process ends. The page is Hadoop's, which `hadoop daemonlog` reads.

use axum::extract::Query;
use axum::response::{Html, IntoResponse, Response};

use super::html::escape;
use crate::logging;

const FORMS: &str = "<br /><hr /><h3>Get / Set</h3>\n\
    <form>Class Name: <input type='text' size='50' name='log' /> <input type='submit' value='Get Log Level' /></form>\n\
    <form>Class Name: <input type='text' size='50' name='log' /> Level: <input type='text' name='level' /> <input type='submit' value='Set Log Level' /></form>\n\
    <hr />\n";

pub(super) async fn show(Query(query): Query<Vec<(String, String)>>) -> Response {
    let value = |wanted: &str| {
        let found = query.iter().find(|(name, _)| name == wanted);
        found.map(|(_, value)| value.trim()).filter(|value| !value.is_empty())
    };
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
