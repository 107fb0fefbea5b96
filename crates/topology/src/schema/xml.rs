//! The XML form: layers with ids, and a path of ids.

use quick_xml::Reader;
use quick_xml::events::Event;
use serde::Deserialize;

use super::{Kind, Layer, SchemaFault, cost_of, filled};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    layoutversion: String,
    layers: Layers,
    topology: Topology,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Layers {
    #[serde(default)]
    layer: Vec<Element>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Element {
    #[serde(rename = "@id")]
    id: String,
    #[serde(rename = "type")]
    kind: String,
    cost: Option<String>,
    prefix: Option<String>,
    default: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Topology {
    path: String,
    enforceprefix: Option<String>,
}

/// The layers in the order of the path, and whether prefixes are enforced.
pub fn parse(text: &str) -> Result<(Vec<Layer>, bool), SchemaFault> {
    if root(text)? != "configuration" {
        return Err(SchemaFault::NoConfiguration);
    }
    let file: File = quick_xml::de::from_str(text)?;
    if file.layoutversion.trim() != "1" {
        let found = file.layoutversion.trim();
        return Err(SchemaFault::LayoutVersion(found.to_owned()));
    }
    let elements = file.layers.layer;
    let ids: Vec<&str> =
        file.topology.path.trim().trim_matches('/').split('/').map(str::trim).collect();
    for (n, element) in elements.iter().enumerate() {
        if elements[..n].iter().any(|other| other.id == element.id) {
            return Err(SchemaFault::RepeatedLayer(element.id.clone()));
        }
    }
    if ids.len() != elements.len() {
        return Err(SchemaFault::PathDepth);
    }
    let layer = |id: &&str| {
        let element = elements.iter().find(|element| element.id == *id);
        element.ok_or_else(|| SchemaFault::UnknownLayer((*id).to_owned())).and_then(read)
    };
    let layers = ids.iter().map(layer).collect::<Result<_, _>>()?;
    let enforce = filled(file.topology.enforceprefix);
    Ok((layers, enforce.is_some_and(|word| word.eq_ignore_ascii_case("true"))))
}

fn read(element: &Element) -> Result<Layer, SchemaFault> {
    let kind = match element.kind.trim().to_ascii_lowercase().as_str() {
        "root" => Kind::Root,
        "innernode" => Kind::Inner,
        "leaf" => Kind::Leaf,
        _ => {
            let (layer, kind) = (element.id.clone(), element.kind.clone());
            return Err(SchemaFault::LayerType { layer, kind });
        }
    };
    let cost = match filled(element.cost.clone()) {
        None => None,
        Some(cost) => {
            let number = cost.parse();
            let layer = element.id.clone();
            Some(number.map_err(|_| SchemaFault::Cost { layer, cost })?)
        }
    };
    let cost = cost_of(cost, kind).map_err(|fault| SchemaFault::Layer {
        layer: element.id.clone(),
        fault: Box::new(fault),
    })?;
    let (prefix, default) = (filled(element.prefix.clone()), filled(element.default.clone()));
    Ok(Layer { kind, cost, prefix, default })
}

/// The name of the outermost element.
fn root(text: &str) -> Result<String, SchemaFault> {
    let mut reader = Reader::from_str(text);
    loop {
        match reader.read_event()? {
            Event::Start(tag) | Event::Empty(tag) => {
                return Ok(String::from_utf8_lossy(tag.name().as_ref()).into_owned());
            }
            Event::Eof => return Err(SchemaFault::Empty),
            _ => {}
        }
    }
}
