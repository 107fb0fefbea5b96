//! Uses of modules by other modules.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::visit::{self, Visit};

use super::cfg;
use super::resolve::Named;
use super::tree::{Crate, Id, Space, imports, plain};

/// A use of a module by another one.
pub struct Arrow {
    pub from: Id,
    pub to: Id,
    pub line: usize,
    /// The path as written.
    pub path: String,
}

/// All uses in a crate.
pub fn arrows(of: &Crate) -> Vec<Arrow> {
    let mut reader = Reader { of, at: 0, arrows: Vec::new() };
    for (at, module) in of.modules.iter().enumerate() {
        reader.at = at;
        module.code.iter().for_each(|item| reader.visit_item(item));
    }
    reader.arrows
}

struct Reader<'a> {
    of: &'a Crate,
    at: Id,
    arrows: Vec<Arrow>,
}

impl Reader<'_> {
    fn add(&mut self, named: Option<Named>, path: &[String], line: usize) {
        let Some(named) = named else { return };
        let (to, modules) = (named.module(), &self.of.modules);
        // To name a module around uses nothing of it.
        let is_around = || modules[self.at].path.starts_with(&modules[to].path);
        if to == self.at || (matches!(named, Named::Module(_)) && is_around()) {
            return;
        }
        self.arrows.push(Arrow { from: self.at, to, line, path: path.join("::") });
    }

    fn path(&mut self, path: &syn::Path, count: usize, space: Space) {
        if path.leading_colon.is_some() {
            return;
        }
        let names: Vec<String> =
            path.segments.iter().take(count).map(|s| plain(&s.ident)).collect();
        if names.first().is_none_or(|first| first == "Self" || names == ["self"]) {
            return;
        }
        let found = if names.len() == 1 {
            self.of.resolve(self.at, &names, space)
        } else {
            self.of.resolve_loosely(self.at, &names, space)
        };
        self.add(found, &names, line_of(path));
    }

    /// Adds paths in the arguments of a macro. Only paths from the crate's root are taken from the
    /// body of one: others are looked up where it is used.
    fn tokens(&mut self, stream: TokenStream, is_body: bool) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream(), is_body),
                TokenTree::Ident(ident) => {
                    let line = ident.span().start().line;
                    let before = if at == 0 { None } else { tokens.get(at - 1) };
                    let (names, next) = names(&tokens, at);
                    at = next;
                    if let Some(space) = space(&names, before, tokens.get(at), is_body) {
                        self.names(&names, space, line);
                    }
                    continue;
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn names(&mut self, names: &[String], space: Space, line: usize) {
        let found = match names {
            [name] if space == Space::Macro => self.of.resolve_macro(self.at, name),
            [_] => {
                let other = if space == Space::Type { Space::Value } else { Space::Type };
                let found = self.of.resolve(self.at, names, space);
                let found = found.or_else(|| self.of.resolve(self.at, names, other));
                found.filter(|named| matches!(named, Named::Item(_)))
            }
            _ => self.of.resolve_loosely(self.at, names, space),
        };
        self.add(found, names, line);
    }

    /// Paths in the text of an attribute, as in `#[serde(with = "crate::hex")]`.
    fn texts(&mut self, stream: TokenStream) {
        for token in stream {
            match token {
                TokenTree::Group(group) => self.texts(group.stream()),
                TokenTree::Literal(literal) => {
                    let line = literal.span().start().line;
                    let Ok(text) = syn::parse_str::<syn::LitStr>(&literal.to_string()) else {
                        continue;
                    };
                    let Ok(path) = text.parse::<syn::Path>() else { continue };
                    let names: Vec<String> =
                        path.segments.iter().map(|segment| plain(&segment.ident)).collect();
                    if names.len() > 1 {
                        self.names(&names, Space::Value, line);
                    }
                }
                _ => {}
            }
        }
    }
}

fn line_of(path: &syn::Path) -> usize {
    path.segments.first().map_or(0, |first| first.ident.span().start().line)
}

/// The path that begins at a token, and the index of the token after it.
fn names(tokens: &[TokenTree], mut at: usize) -> (Vec<String>, usize) {
    let mut names = Vec::new();
    while let Some(TokenTree::Ident(ident)) = tokens.get(at) {
        names.push(plain(ident));
        at += 1;
        if !(is(tokens.get(at), ':') && is(tokens.get(at + 1), ':')) {
            break;
        }
        if !matches!(tokens.get(at + 2), Some(TokenTree::Ident(_))) {
            break;
        }
        at += 2;
    }
    (names, at)
}

fn is(token: Option<&TokenTree>, c: char) -> bool {
    matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == c)
}

/// The space of the last name of a path among tokens; `None` when it is no path into this crate.
fn space(
    names: &[String],
    before: Option<&TokenTree>,
    after: Option<&TokenTree>,
    is_body: bool,
) -> Option<Space> {
    let first = names.first()?;
    let of_crate = first == "crate";
    // A field, a lifetime, the rest of a path, a variable of a macro.
    let is_part = ['.', '\'', ':'].iter().any(|c| is(before, *c)) && !of_crate;
    let is_variable = is(before, '$') && !of_crate;
    let is_keyword =
        names.len() == 1 && ["crate", "self", "super", "Self"].contains(&first.as_str());
    if is_part || is_variable || is_keyword || first == "Self" || (is_body && !of_crate) {
        return None;
    }
    let is_call = |token: Option<&TokenTree>| matches!(token, Some(TokenTree::Group(g)) if g.delimiter() == Delimiter::Parenthesis);
    if is(after, '!') {
        return Some(Space::Macro);
    }
    if names.len() > 1 || is_call(after) {
        return Some(Space::Value);
    }
    first.chars().next().filter(char::is_ascii_uppercase).map(|_| Space::Type)
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if !cfg::is_for_tests(cfg::attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if !cfg::is_for_tests(cfg::impl_attributes(item)) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast syn::TraitItem) {
        if !cfg::is_for_tests(cfg::trait_attributes(item)) {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_field(&mut self, field: &'ast syn::Field) {
        if !cfg::is_for_tests(&field.attrs) {
            visit::visit_field(self, field);
        }
    }

    fn visit_local(&mut self, local: &'ast syn::Local) {
        if !cfg::is_for_tests(&local.attrs) {
            visit::visit_local(self, local);
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let here = &self.of.modules[self.at].path;
        for import in imports(item) {
            let named = if import.name.is_none() {
                self.of.resolve(self.at, &import.path, Space::Type)
            } else {
                // Of a name that is a module and a function, the paths say which one is used.
                self.of.resolve_import(self.at, &import.path)
            };
            let Some(named) = named else { continue };
            let path = &self.of.modules[named.module()].path;
            // A module may export what is below it without using it.
            if !(import.exported && path.starts_with(here)) {
                self.add(Some(named), &import.path, import.line);
            }
        }
    }

    /// `pub(in path)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {}

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.path(path, path.segments.len(), Space::Type);
        visit::visit_path(self, path);
    }

    fn visit_expr_path(&mut self, expr: &'ast syn::ExprPath) {
        match &expr.qself {
            Some(qself) => {
                self.visit_type(&qself.ty);
                self.path(&expr.path, qself.position, Space::Type);
            }
            None => self.path(&expr.path, expr.path.segments.len(), Space::Value),
        }
        visit::visit_path(self, &expr.path);
    }

    fn visit_type_path(&mut self, path: &'ast syn::TypePath) {
        match &path.qself {
            Some(qself) => {
                self.visit_type(&qself.ty);
                self.path(&path.path, qself.position, Space::Type);
                visit::visit_path(self, &path.path);
            }
            None => self.visit_path(&path.path),
        }
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let skipped = ["cfg", "cfg_attr", "derive", "allow", "expect"];
        if skipped.iter().any(|name| attribute.path().is_ident(name)) {
            return;
        }
        self.path(attribute.path(), attribute.path().segments.len(), Space::Macro);
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone(), false);
            self.texts(list.tokens.clone());
        }
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        match &item.ident {
            Some(_) => self.tokens(item.mac.tokens.clone(), true),
            None => visit::visit_item_macro(self, item),
        }
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        match mac.path.get_ident() {
            Some(name) => {
                let name = plain(name);
                let found = self.of.resolve_macro(self.at, &name);
                self.add(found, &[name], line_of(&mac.path));
            }
            None => self.path(&mac.path, mac.path.segments.len(), Space::Macro),
        }
        self.tokens(mac.tokens.clone(), false);
    }
}
