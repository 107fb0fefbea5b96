//! Circles among the modules of a folder.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::arrows::Arrow;
use super::tree::{Crate, Module, ROOT};

/// Modules of a folder that use each other.
pub struct Circle {
    /// The folder's path in the crate; the root's is empty.
    pub folder: String,
    pub modules: BTreeSet<String>,
    /// The shortest way around: each module, with the place where it uses the next one.
    pub shortest: Vec<(String, String)>,
}

/// For each module of a folder the modules it uses, with the first place.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// The circles of a crate: of the modules of its root, and of those of each folder of more than
/// `large` lines.
pub fn circles(of: &Crate, arrows: &[Arrow], large: usize) -> Vec<Circle> {
    let mut folders: BTreeMap<Vec<String>, Uses> = BTreeMap::new();
    let is_large = large_folders(of, large);
    for arrow in arrows {
        let (from, to) = (&of.modules[arrow.from], &of.modules[arrow.to]);
        let same = from.place.iter().zip(&to.place).take_while(|(a, b)| a == b).count();
        let folder = &from.place[..same];
        let (from_name, to_name) = (name(from, same), name(to, same));
        if from_name == to_name || !is_large.contains(folder) {
            continue;
        }
        let place = format!("{}:{}: {}", from.file.display(), arrow.line, arrow.path);
        let uses = folders.entry(folder.to_owned()).or_default();
        uses.entry(to_name.clone()).or_default();
        uses.entry(from_name).or_default().entry(to_name).or_insert(place);
    }
    let circles = folders.into_iter().flat_map(|(folder, uses)| {
        let sets = sets(&uses).into_iter();
        let circle = move |modules: BTreeSet<String>| {
            let shortest = shortest(&uses, &modules);
            Circle { folder: folder.join("/"), modules, shortest }
        };
        sets.map(circle).collect::<Vec<_>>()
    });
    circles.collect()
}

/// The module of a folder that a place is in, `depth` folders below the root; its own file is
/// `mod`, at the root `lib` or `main`.
fn name(of: &Module, depth: usize) -> String {
    let own = || of.file.file_stem().and_then(|stem| stem.to_str()).unwrap_or("mod").to_owned();
    of.place.get(depth).cloned().unwrap_or_else(own)
}

/// The root, and folders of more than `large` lines.
fn large_folders(of: &Crate, large: usize) -> BTreeSet<Vec<String>> {
    let modules = of.modules.iter().enumerate();
    let are_large = modules.filter(|(id, _)| *id == ROOT || of.lines_below(*id) > large);
    are_large.map(|(_, module)| module.path.clone()).collect()
}

/// Sets of modules of which each leads to each other one.
fn sets(uses: &Uses) -> Vec<BTreeSet<String>> {
    let reached: BTreeMap<&String, BTreeSet<&String>> =
        uses.keys().map(|module| (module, reach(uses, module))).collect();
    let mut found: Vec<BTreeSet<String>> = Vec::new();
    for (module, from_here) in &reached {
        let back = |other: &&&String| reached.get(**other).is_some_and(|r| r.contains(*module));
        let circle: BTreeSet<String> =
            from_here.iter().filter(back).map(|module| (*module).clone()).collect();
        if circle.len() > 1 && !found.contains(&circle) {
            found.push(circle);
        }
    }
    found
}

/// All that a module uses, directly or not.
fn reach<'a>(uses: &'a Uses, from: &'a String) -> BTreeSet<&'a String> {
    let (mut reached, mut next) = (BTreeSet::new(), vec![from]);
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flat_map(BTreeMap::keys) {
            if reached.insert(used) {
                next.push(used);
            }
        }
    }
    reached
}

/// The shortest way from a module of a circle back to itself.
fn shortest(uses: &Uses, circle: &BTreeSet<String>) -> Vec<(String, String)> {
    let ways = circle.iter().filter_map(|from| around(uses, circle, from));
    let mut shortest: Option<Vec<&String>> = None;
    for way in ways {
        if shortest.as_ref().is_none_or(|other| way.len() < other.len()) {
            shortest = Some(way);
        }
    }
    let way = shortest.unwrap_or_default();
    let next = way.iter().cycle().skip(1);
    let steps = way.iter().zip(next).map(|(from, to)| {
        let place = uses.get(*from).and_then(|used| used.get(*to)).cloned();
        ((*from).clone(), place.unwrap_or_default())
    });
    steps.collect()
}

fn around<'a>(
    uses: &'a Uses,
    circle: &'a BTreeSet<String>,
    from: &'a String,
) -> Option<Vec<&'a String>> {
    let mut before: BTreeMap<&String, &String> = BTreeMap::new();
    let mut next = VecDeque::from([from]);
    while let Some(module) = next.pop_front() {
        for used in uses.get(module)?.keys().filter(|used| circle.contains(*used)) {
            if used == from {
                let mut way = vec![module];
                while let Some(earlier) = way.last().and_then(|last| before.get(*last)) {
                    way.push(earlier);
                }
                way.reverse();
                return Some(way);
            }
            if !before.contains_key(used) {
                before.insert(used, module);
                next.push_back(used);
            }
        }
    }
    None
}
