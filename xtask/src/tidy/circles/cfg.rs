//! Code that only tests have.

use syn::punctuated::Punctuated;
use syn::{Attribute, ImplItem, Item, Meta, Token, TraitItem};

/// True if the attributes of an item leave it out of the shipped code.
pub fn is_for_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let path = attribute.path();
        let is_test = path.segments.last().is_some_and(|last| last.ident == "test");
        is_test || (path.is_ident("cfg") && arguments(&attribute.meta).iter().any(needs_test))
    })
}

/// True if a condition holds in tests only.
fn needs_test(condition: &Meta) -> bool {
    let path = condition.path();
    if path.is_ident("all") {
        return arguments(condition).iter().any(needs_test);
    }
    if path.is_ident("any") {
        let all = arguments(condition);
        return !all.is_empty() && all.iter().all(needs_test);
    }
    path.is_ident("test")
}

fn arguments(meta: &Meta) -> Vec<Meta> {
    let Meta::List(list) = meta else { return Vec::new() };
    let parsed = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
    parsed.map(|all| all.into_iter().collect()).unwrap_or_default()
}

/// The attributes of an item.
pub fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::ExternCrate(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::ForeignMod(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::TraitAlias(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Union(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item of an `impl`.
pub fn impl_attributes(item: &ImplItem) -> &[Attribute] {
    match item {
        ImplItem::Const(item) => &item.attrs,
        ImplItem::Fn(item) => &item.attrs,
        ImplItem::Macro(item) => &item.attrs,
        ImplItem::Type(item) => &item.attrs,
        _ => &[],
    }
}

/// The attributes of an item of a trait.
pub fn trait_attributes(item: &TraitItem) -> &[Attribute] {
    match item {
        TraitItem::Const(item) => &item.attrs,
        TraitItem::Fn(item) => &item.attrs,
        TraitItem::Macro(item) => &item.attrs,
        TraitItem::Type(item) => &item.attrs,
        _ => &[],
    }
}
