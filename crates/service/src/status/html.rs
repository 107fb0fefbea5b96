//! The page for people: plain HTML, no scripts, readable in any browser.

use std::fmt::Write;

use super::Section;

const STYLE: &str = "body{font:14px/1.5 system-ui,sans-serif;max-width:70em;margin:2em auto;padding:0 1em;color:#222}\
h1{font-size:1.4em}h2{font-size:1.1em;margin:1.6em 0 .4em}table{border-collapse:collapse}\
td,th{text-align:left;padding:.15em 1.2em .15em 0;border-bottom:1px solid #eee;vertical-align:top}th{color:#666;font-weight:normal}\
nav a{margin-right:1em}";

pub(super) fn page(title: &str, sections: Vec<Section>) -> String {
    let title = escape(title);
    let mut html = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title><style>{STYLE}</style></head>\
         <body><h1>{title}</h1><nav><a href=\"/metrics\">metrics</a><a href=\"/status.json\">status.json</a></nav>\n"
    );
    for section in sections {
        match section {
            Section::Facts { title, facts } => {
                let _ = writeln!(html, "<h2>{}</h2><table>", escape(&title));
                for (name, value) in facts {
                    let _ = writeln!(
                        html,
                        "<tr><th>{}</th><td>{}</td></tr>",
                        escape(&name),
                        escape(&value)
                    );
                }
            }
            Section::Table { title, columns, rows } => {
                let _ = write!(html, "<h2>{}</h2><table><tr>", escape(&title));
                for column in columns {
                    let _ = write!(html, "<th>{}</th>", escape(&column));
                }
                html.push_str("</tr>\n");
                for row in rows {
                    html.push_str("<tr>");
                    for cell in row {
                        let _ = write!(html, "<td>{}</td>", escape(&cell));
                    }
                    html.push_str("</tr>\n");
                }
            }
        }
        html.push_str("</table>\n");
    }
    html.push_str("</body></html>\n");
    html
}

pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            c => escaped.push(c),
        }
    }
    escaped
}
