//! Hadoop's XML: `<configuration><property><name/><value/></property>…`.
//!
//! `<description>`, `<tag>`, `<final>` and `<source>` are skipped. An `xi:include` is an error
//! rather than ignored.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::{Malformed, Raw, line_of};

/// The property that is being read.
#[derive(Default)]
struct Property {
    open: bool,
    name: Option<(String, usize)>,
    value: Option<String>,
    /// Text of the element being read.
    text: Option<String>,
    line: usize,
}

pub(super) fn parse(text: &str) -> Result<Vec<Raw>, Malformed> {
    let mut reader = Reader::from_str(text);
    let mut found = Vec::new();
    let mut property = Property::default();
    let (mut seen_root, mut root_open) = (false, false);
    loop {
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        let fail = |message: String| Malformed { line: line_of(text, at), message };
        let event = reader.read_event().map_err(|e| {
            let at = usize::try_from(reader.error_position()).unwrap_or(at);
            Malformed { line: line_of(text, at), message: e.to_string() }
        })?;
        match event {
            Event::Start(tag) => match tag.name().as_ref() {
                b"configuration" => (seen_root, root_open) = (true, true),
                b"property" if property.open => {
                    return Err(fail("a <property> inside another".into()));
                }
                b"property" => {
                    property =
                        Property { open: true, line: line_of(text, at), ..Property::default() }
                }
                b"xi:include" | b"include" => {
                    return Err(fail(
                        "xi:include is not supported: move the settings into this file".into(),
                    ));
                }
                b"name" | b"value" if property.open => property.text = Some(String::new()),
                _ if !seen_root => return Err(fail("expected <configuration>".into())),
                _ => property.text = None,
            },
            Event::Empty(tag) => match tag.name().as_ref() {
                b"configuration" => seen_root = true,
                b"xi:include" | b"include" => {
                    return Err(fail(
                        "xi:include is not supported: move the settings into this file".into(),
                    ));
                }
                b"value" if property.open => property.value = Some(String::new()),
                b"property" => attributes(&tag, text, at, &mut found)?,
                _ => {}
            },
            Event::Text(chunk) => {
                if let Some(collected) = &mut property.text {
                    collected.push_str(&chunk.decode().map_err(|e| fail(e.to_string()))?);
                }
            }
            Event::CData(chunk) => {
                if let Some(collected) = &mut property.text {
                    collected.push_str(&chunk.decode().map_err(|e| fail(e.to_string()))?);
                }
            }
            Event::GeneralRef(reference) => {
                if let Some(collected) = &mut property.text {
                    let name = reference.decode().map_err(|e| fail(e.to_string()))?;
                    let resolved =
                        match reference.resolve_char_ref().map_err(|e| fail(e.to_string()))? {
                            Some(c) => c.to_string(),
                            None => quick_xml::escape::resolve_predefined_entity(&name)
                                .ok_or_else(|| fail(format!("unknown entity &{name};")))?
                                .to_string(),
                        };
                    collected.push_str(&resolved);
                }
            }
            Event::End(tag) => match tag.name().as_ref() {
                b"name" if property.open => {
                    let name = property.text.take().unwrap_or_default().trim().to_string();
                    property.name = Some((name, line_of(text, at)));
                }
                b"value" if property.open => {
                    property.line = line_of(text, at);
                    property.value = property.text.take();
                }
                b"property" => {
                    let done = std::mem::take(&mut property);
                    let Some((name, name_line)) = done.name.filter(|(name, _)| !name.is_empty())
                    else {
                        return Err(Malformed {
                            line: done.line,
                            message: "a <property> without a <name>".into(),
                        });
                    };
                    // A property without a value is ignored, as in Hadoop.
                    if let Some(value) = done.value {
                        found.push(Raw {
                            name,
                            value: value.trim().to_string(),
                            line: name_line.max(done.line),
                        });
                    }
                }
                b"configuration" => root_open = false,
                _ => property.text = None,
            },
            Event::Eof if property.open => {
                return Err(fail("the file ends inside a <property>".into()));
            }
            // Perhaps a partly written file, whose missing keys would silently take their defaults.
            Event::Eof if root_open => {
                return Err(fail("the file ends before </configuration>".into()));
            }
            Event::Eof if !seen_root => return Err(fail("expected <configuration>".into())),
            Event::Eof => return Ok(found),
            _ => {}
        }
    }
}

/// `<property name="…" value="…"/>`, which Hadoop also accepts.
fn attributes(
    tag: &quick_xml::events::BytesStart<'_>,
    text: &str,
    at: usize,
    found: &mut Vec<Raw>,
) -> Result<(), Malformed> {
    let line = line_of(text, at);
    let fail = |message: String| Malformed { line, message };
    let (mut name, mut value) = (None, None);
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|e| fail(e.to_string()))?;
        let raw = std::str::from_utf8(&attribute.value).map_err(|e| fail(e.to_string()))?;
        let content =
            quick_xml::escape::unescape(raw).map_err(|e| fail(e.to_string()))?.trim().to_string();
        match attribute.key.as_ref() {
            b"name" => name = Some(content),
            b"value" => value = Some(content),
            _ => {}
        }
    }
    let name =
        name.filter(|n| !n.is_empty()).ok_or_else(|| fail("a <property> without a name".into()))?;
    if let Some(value) = value {
        found.push(Raw { name, value, line });
    }
    Ok(())
}
