//! The modules of a crate, read from its root file on: place, declarations and imports of each.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::{Attribute, Item, UseTree, Visibility};

use super::cfg;

/// The index of a module in its [`Crate`].
pub type Id = usize;

/// The root of each crate.
pub const ROOT: Id = 0;

/// The kinds of names, which do not shadow each other.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Space {
    /// Types, traits and modules.
    Type,
    /// Functions, constants, statics, constructors.
    Value,
    /// Macros.
    Macro,
}

/// All name spaces, in the order in which they are searched.
pub const SPACES: [Space; 3] = [Space::Type, Space::Value, Space::Macro];

/// A name that `use` brings into a module.
pub struct Import {
    /// The path as written.
    pub path: Vec<String>,
    /// The name in the module; `None` is a glob.
    pub name: Option<String>,
    /// The line of the declaration.
    pub line: usize,
    /// True if other modules see the name, too.
    pub exported: bool,
}

/// A module, declared in a file of its own or in the file of its parent.
pub struct Module {
    /// Names from the crate's root to here.
    pub path: Vec<String>,
    /// The path of the module whose file has the code.
    pub place: Vec<String>,
    /// The file that has the code.
    pub file: PathBuf,
    pub parent: Option<Id>,
    pub children: BTreeMap<String, Id>,
    /// Names that the module declares.
    pub items: HashSet<(Space, String)>,
    pub imports: Vec<Import>,
    /// The code, without modules.
    pub code: Vec<Item>,
    /// Lines of the file; none for a module within a file.
    pub lines: usize,
}

/// A crate's modules; the first one is the root.
pub struct Crate {
    pub modules: Vec<Module>,
    /// Modules that declare macros, by the macro's name.
    pub macros: HashMap<String, Vec<Id>>,
}

impl Crate {
    /// Reads a crate from its root file.
    ///
    /// # Errors
    /// When a file cannot be read or parsed.
    pub fn read(root: &Path) -> Result<Self> {
        let mut read = Self { modules: Vec::new(), macros: HashMap::new() };
        read.add_file(root, None, Vec::new(), root.parent().unwrap_or(root))?;
        Ok(read)
    }

    fn add_file(
        &mut self,
        file: &Path,
        parent: Option<Id>,
        path: Vec<String>,
        folder: &Path,
    ) -> Result<Id> {
        let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).with_context(|| file.display().to_string())?;
        let id = self.add(file, parent, path.clone(), path);
        self.modules[id].lines = text.lines().count();
        self.fill(id, parsed.items, folder)?;
        Ok(id)
    }

    fn add(
        &mut self,
        file: &Path,
        parent: Option<Id>,
        path: Vec<String>,
        place: Vec<String>,
    ) -> Id {
        let (file, children) = (file.to_owned(), BTreeMap::new());
        let (items, imports, code) = (HashSet::new(), Vec::new(), Vec::new());
        let module = Module { path, place, file, parent, children, items, imports, code, lines: 0 };
        self.modules.push(module);
        self.modules.len() - 1
    }

    /// Takes the items of a module; files of its children are in `folder`.
    fn fill(&mut self, id: Id, items: Vec<Item>, folder: &Path) -> Result<()> {
        for item in items {
            match item {
                item if cfg::is_for_tests(cfg::attributes(&item)) => {}
                Item::Mod(item) => self.add_child(id, item, folder)?,
                item => self.declare(id, item),
            }
        }
        Ok(())
    }

    fn add_child(&mut self, id: Id, item: syn::ItemMod, folder: &Path) -> Result<()> {
        let name = plain(&item.ident);
        let mut path = self.modules[id].path.clone();
        path.push(name.clone());
        let child = if let Some((_, items)) = item.content {
            let (file, place) = (self.modules[id].file.clone(), self.modules[id].place.clone());
            let child = self.add(&file, Some(id), path, place);
            self.fill(child, items, &folder.join(&name))?;
            child
        } else {
            let (file, inner) = self.find(id, &item.attrs, &name, folder)?;
            self.add_file(&file, Some(id), path, &inner)?
        };
        self.modules[id].children.insert(name, child);
        Ok(())
    }

    /// The file of a module, and the folder of its children.
    fn find(
        &self,
        parent: Id,
        attributes: &[Attribute],
        name: &str,
        folder: &Path,
    ) -> Result<(PathBuf, PathBuf)> {
        if let Some(given) = path_attribute(attributes) {
            let file = self.modules[parent].file.with_file_name(given);
            let inner = file.parent().unwrap_or(folder).to_owned();
            return Ok((file, inner));
        }
        let inner = folder.join(name);
        let candidates = [folder.join(format!("{name}.rs")), inner.join("mod.rs")];
        match candidates.into_iter().find(|file| file.is_file()) {
            Some(file) => Ok((file, inner)),
            None => bail!("{}: no file of module {name}", self.modules[parent].file.display()),
        }
    }

    fn declare(&mut self, id: Id, item: Item) {
        let module = &mut self.modules[id];
        let mut add = |space, ident: &syn::Ident| _ = module.items.insert((space, plain(ident)));
        match &item {
            Item::Const(item) => add(Space::Value, &item.ident),
            Item::Static(item) => add(Space::Value, &item.ident),
            Item::Fn(item) => add(Space::Value, &item.sig.ident),
            Item::Enum(item) => add(Space::Type, &item.ident),
            Item::Trait(item) => add(Space::Type, &item.ident),
            Item::TraitAlias(item) => add(Space::Type, &item.ident),
            Item::Type(item) => add(Space::Type, &item.ident),
            Item::Union(item) => add(Space::Type, &item.ident),
            Item::Struct(item) => {
                add(Space::Type, &item.ident);
                if !matches!(item.fields, syn::Fields::Named(_)) {
                    add(Space::Value, &item.ident);
                }
            }
            Item::Macro(item) => {
                if let Some(name) = &item.ident {
                    add(Space::Macro, name);
                    self.macros.entry(plain(name)).or_default().push(id);
                }
            }
            Item::Use(item) => module.imports.extend(imports(item)),
            _ => {}
        }
        self.modules[id].code.push(item);
    }

    /// Lines of a module's file and of those below it.
    pub fn lines_below(&self, id: Id) -> usize {
        let module = &self.modules[id];
        let below = module.children.values().map(|child| self.lines_below(*child));
        module.lines + below.sum::<usize>()
    }
}

/// A name without the mark of a raw one.
pub fn plain(ident: &syn::Ident) -> String {
    let text = ident.to_string();
    text.strip_prefix("r#").map_or(text.clone(), str::to_owned)
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    let attribute = attributes.iter().find(|a| a.path().is_ident("path"))?;
    let value = &attribute.meta.require_name_value().ok()?.value;
    let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = value else { return None };
    Some(text.value())
}

/// Each name of a declaration.
pub fn imports(item: &syn::ItemUse) -> Vec<Import> {
    // `::name` is another crate's.
    if item.leading_colon.is_some() {
        return Vec::new();
    }
    let exported = !matches!(item.vis, Visibility::Inherited);
    let mut found = Vec::new();
    collect(&item.tree, &mut Vec::new(), exported, &mut found);
    found
}

fn collect(tree: &UseTree, before: &mut Vec<String>, exported: bool, found: &mut Vec<Import>) {
    let line = match tree {
        UseTree::Path(tree) => tree.ident.span(),
        UseTree::Name(tree) => tree.ident.span(),
        UseTree::Rename(tree) => tree.ident.span(),
        UseTree::Glob(tree) => tree.star_token.span,
        _ => proc_macro2::Span::call_site(),
    };
    let line = line.start().line;
    let mut add = |last: Option<String>, name: Option<String>| {
        let mut path = before.clone();
        path.extend(last);
        found.push(Import { path, name, line, exported });
    };
    match tree {
        UseTree::Path(tree) => {
            before.push(plain(&tree.ident));
            collect(&tree.tree, before, exported, found);
            before.pop();
        }
        // `{self}` is the module itself.
        UseTree::Name(tree) if tree.ident == "self" && !before.is_empty() => {
            let name = before.last().cloned();
            add(None, name);
        }
        UseTree::Name(tree) => add(Some(plain(&tree.ident)), Some(plain(&tree.ident))),
        UseTree::Rename(tree) if tree.ident == "self" && !before.is_empty() => {
            add(None, Some(plain(&tree.rename)));
        }
        UseTree::Rename(tree) => add(Some(plain(&tree.ident)), Some(plain(&tree.rename))),
        UseTree::Glob(_) => add(None, None),
        UseTree::Group(tree) => {
            for tree in &tree.items {
                collect(tree, before, exported, found);
            }
        }
    }
}
