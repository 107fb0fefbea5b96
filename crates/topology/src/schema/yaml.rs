//! The YAML form: nested layers. Prefixes are always enforced there.

use serde::Deserialize;

use super::{Kind, Layer, SchemaFault, cost_of, filled};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct Node {
    #[serde(rename = "type")]
    kind: Option<NodeType>,
    cost: Option<i64>,
    prefix: Option<String>,
    default_name: Option<String>,
    #[serde(default)]
    sublayer: Vec<Node>,
}

#[derive(Deserialize, Clone, Copy)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
enum NodeType {
    Root,
    InnerNode,
    LeafNode,
}

/// The layers from the outermost in, and whether prefixes are enforced.
pub fn parse(text: &str) -> Result<(Vec<Layer>, bool), SchemaFault> {
    let mut next: Option<Node> =
        Some(serde_saphyr::from_str(text).map_err(|e| SchemaFault::Yaml(Box::new(e)))?);
    let mut layers = Vec::new();
    while let Some(node) = next {
        let kind = match node.kind {
            Some(NodeType::Root) => Kind::Root,
            Some(NodeType::InnerNode) | None => Kind::Inner,
            Some(NodeType::LeafNode) => Kind::Leaf,
        };
        let cost = cost_of(node.cost, kind)?;
        let (prefix, default) = (filled(node.prefix), filled(node.default_name));
        layers.push(Layer { kind, cost, prefix, default });
        let mut below = node.sublayer.into_iter();
        next = below.next();
        if below.next().is_some() {
            return Err(SchemaFault::SeveralSublayers);
        }
        if kind == Kind::Leaf && next.is_some() {
            return Err(SchemaFault::LeafInside);
        }
    }
    Ok((layers, true))
}
