//! Resolves a path: the module that declares the item, through imports, exports and globs.

use std::collections::HashSet;

use super::tree::{Crate, Id, ROOT, SPACES, Space};

/// The end of a path.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Named {
    Module(Id),
    /// An item, or something below an item, that this module declares.
    Item(Id),
}

impl Named {
    /// The module that is used.
    pub fn module(self) -> Id {
        match self {
            Self::Module(id) | Self::Item(id) => id,
        }
    }
}

/// Names that are being looked up: imports may lead in circles.
type Open = HashSet<(Id, String, Space)>;

impl Crate {
    /// Resolves a path in a module; `None` when it is not of this crate. The last name of a path
    /// is of the space `last`, those before are modules and types.
    pub fn resolve(&self, from: Id, path: &[String], last: Space) -> Option<Named> {
        self.resolve_open(from, path, last, &mut Open::new())
    }

    /// Resolves an import; `None` when its name means items of several modules.
    pub fn resolve_import(&self, from: Id, path: &[String]) -> Option<Named> {
        let mut found = SPACES.iter().filter_map(|space| self.resolve(from, path, *space));
        let first = found.next()?;
        found.all(|other| other.module() == first.module()).then_some(first)
    }

    fn resolve_open(
        &self,
        from: Id,
        path: &[String],
        last: Space,
        open: &mut Open,
    ) -> Option<Named> {
        let (mut at, mut rest) = match path.first()?.as_str() {
            "crate" | "$crate" => (ROOT, &path[1..]),
            "self" => (from, &path[1..]),
            "super" => (self.modules[from].parent?, &path[1..]),
            first => {
                let space = if path.len() == 1 { last } else { Space::Type };
                match self.lookup(from, first, space, open)? {
                    Named::Module(id) => (id, &path[1..]),
                    item => return Some(item),
                }
            }
        };
        while rest.first().is_some_and(|name| name == "super") {
            (at, rest) = (self.modules[at].parent?, &rest[1..]);
        }
        while let Some((name, after)) = rest.split_first() {
            let space = if after.is_empty() { last } else { Space::Type };
            match self.lookup(at, name, space, open) {
                Some(Named::Module(id)) => (at, rest) = (id, after),
                Some(item) => return Some(item),
                None if after.is_empty() => return None,
                // Something that a macro declares there, or that another crate does.
                None => return Some(Named::Item(at)),
            }
        }
        Some(Named::Module(at))
    }

    /// Resolves a name in a module.
    fn lookup(&self, at: Id, name: &str, space: Space, open: &mut Open) -> Option<Named> {
        if !open.insert((at, name.to_owned(), space)) {
            return None;
        }
        let found = self.lookup_open(at, name, space, open);
        open.remove(&(at, name.to_owned(), space));
        found
    }

    fn lookup_open(&self, at: Id, name: &str, space: Space, open: &mut Open) -> Option<Named> {
        let module = &self.modules[at];
        if let (Space::Type, Some(child)) = (space, module.children.get(name)) {
            return Some(Named::Module(*child));
        }
        if module.items.contains(&(space, name.to_owned())) {
            return Some(Named::Item(at));
        }
        let named = module.imports.iter().filter(|import| import.name.as_deref() == Some(name));
        for import in named {
            if let Some(found) = self.resolve_open(at, &import.path, space, open) {
                return Some(found);
            }
            if self.is_foreign(at, &import.path, open) {
                return Some(Named::Item(at));
            }
        }
        for import in module.imports.iter().filter(|import| import.name.is_none()) {
            let target = self.resolve_open(at, &import.path, Space::Type, open);
            let Some(Named::Module(target)) = target else { continue };
            if let Some(found) = self.lookup(target, name, space, open) {
                return Some(found);
            }
        }
        None
    }

    /// True if a path begins with another crate.
    fn is_foreign(&self, at: Id, path: &[String], open: &mut Open) -> bool {
        let Some(first) = path.first() else { return false };
        let here = ["crate", "self", "super"].contains(&first.as_str());
        !here && self.lookup(at, first, Space::Type, open).is_none()
    }

    /// Resolves a path whose last name may be of any space, or made by a macro.
    pub fn resolve_loosely(&self, from: Id, path: &[String], last: Space) -> Option<Named> {
        let found = self
            .resolve(from, path, last)
            .or_else(|| SPACES.iter().find_map(|space| self.resolve(from, path, *space)));
        let (_, before) = path.split_last()?;
        found.or_else(|| self.resolve(from, before, Space::Type))
    }

    /// The module that declares a macro without a path: this one, one around it, or the only one
    /// that declares a macro of this name.
    pub fn resolve_macro(&self, from: Id, name: &str) -> Option<Named> {
        if let Some(found) = self.lookup(from, name, Space::Macro, &mut Open::new()) {
            return Some(found);
        }
        let declared = self.macros.get(name)?;
        let mut around = self.modules[from].parent;
        while let Some(at) = around {
            if declared.contains(&at) {
                return Some(Named::Item(at));
            }
            around = self.modules[at].parent;
        }
        match declared.as_slice() {
            [only] => Some(Named::Item(*only)),
            _ => None,
        }
    }
}
