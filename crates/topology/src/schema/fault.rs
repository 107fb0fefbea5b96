//! Errors in a schema file.

/// An error in a schema file.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)]
pub enum SchemaFault {
    #[error(transparent)]
    Unreadable(#[from] std::io::Error),
    #[error(transparent)]
    Xml(#[from] quick_xml::Error),
    #[error(transparent)]
    XmlFields(#[from] quick_xml::DeError),
    #[error(transparent)]
    Yaml(Box<serde_saphyr::Error>),
    #[error("it is empty")]
    Empty,
    #[error("top-level element not <configuration>")]
    NoConfiguration,
    #[error("bad layoutversion value, expected: 1, found: {0}")]
    LayoutVersion(String),
    #[error("repetitive layer {0}")]
    RepeatedLayer(String),
    #[error("topology path depth doesn't match layer element numbers")]
    PathDepth,
    #[error("no layer found for id {0}")]
    UnknownLayer(String),
    #[error("layer {layer}: unsupported layer type {kind}")]
    LayerType { layer: String, kind: String },
    #[error("layer {layer}: cost {cost} is not a number")]
    Cost { layer: String, cost: String },
    #[error("layer {layer}: {fault}")]
    Layer { layer: String, fault: Box<SchemaFault> },
    #[error("cost should be positive number or 0, not {0}")]
    NegativeCost(i64),
    #[error("a layer has more than one sublayer")]
    SeveralSublayers,
    #[error("leaf node in the middle of path")]
    LeafInside,
    #[error("multiple ROOT layers are found")]
    SeveralRoots,
    #[error("multiple LEAF layers are found")]
    SeveralLeaves,
    #[error("no ROOT layer is found")]
    NoRoot,
    #[error("no LEAF layer is found")]
    NoLeaf,
    #[error("topology path doesn't start with ROOT layer")]
    RootIsNotFirst,
    #[error("topology path doesn't end with LEAF layer")]
    LeafIsNotLast,
    #[error("there is no layer between root and node")]
    NoInnerLayer,
    #[error("there is layer without prefix defined while prefix is enforced")]
    NoPrefix,
}
