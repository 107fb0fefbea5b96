//! Crates in folders of their own: each kind of path is found, and nothing else.

use std::fs;
use std::path::Path;

use super::*;

/// The circles of a crate with these files, and of its folders of more than `large` lines.
fn circles_of(files: &[(&str, &str)], large: usize) -> Vec<(String, Circle)> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
        fs::write(path, text).expect("a file");
    }
    let circles = of_crate(&folder.path().join("lib.rs"), folder.path(), large).expect("a crate");
    circles.into_iter().map(|circle| (circle.folder.clone(), circle)).collect()
}

/// The sets of modules that use each other.
fn sets(files: &[(&str, &str)], large: usize) -> Vec<String> {
    let set = |(folder, circle): (String, Circle)| {
        let modules: Vec<String> = circle.modules.into_iter().collect();
        format!("{folder}: {}", modules.join(" "))
    };
    circles_of(files, large).into_iter().map(set).collect()
}

/// The module that the others use; it uses `b`.
const A: &str = "use crate::b::B;\npub struct A(B);\npub fn f() {}\npub mod inner { pub fn g() {} }\n\
                 macro_rules! m { () => {} }\npub(crate) use m;\n";

/// True if `b`, with this text, uses `a` in a crate with this `lib.rs`.
fn uses(lib: &str, b: &str) -> bool {
    let lib = format!("#[macro_use]\nmod a;\nmod b;\n{lib}");
    let b = format!("{b}\npub struct B;\n");
    match sets(&[("lib.rs", &lib), ("a.rs", A), ("b.rs", &b)], LARGE).as_slice() {
        [] => false,
        [set] => set == ": a b",
        others => panic!("{others:?}"),
    }
}

#[test]
fn imports_are_seen() {
    for b in [
        "use crate::a::A;",
        "use crate::a;",
        "use super::a::{self as other};",
        "use crate::{a::{A as Other}, b};",
        "use crate::a::*;",
        "fn h() { use crate::a::A; }",
        "pub use crate::a::A;",
    ] {
        assert!(uses("", b), "{b}");
    }
}

#[test]
fn exports_are_followed() {
    assert!(uses("pub use a::A;", "use crate::A;"));
    assert!(uses("pub use a::A as C;", "use crate::C;"));
    assert!(uses("pub use a::*;", "use crate::A;"));
    assert!(uses("pub use a::*;", "fn h(_: &crate::A) {}"));
    assert!(uses("mod c { pub use crate::a::A; }", "use crate::c::A;"));
    assert!(uses("pub use a::A;", "use super::*;\nfn h(_: &A) {}"));
    assert!(!uses("pub use a::A;", "use super::*;\nfn h(_: &C) {}"));
}

#[test]
fn paths_in_code_are_seen() {
    for b in [
        "fn h() { crate::a::f() }",
        "fn h() { super::a::inner::g() }",
        "fn h() { self::super::a::f() }",
        "fn h(_: Vec<crate::a::A>) {}",
        "impl<T: From<crate::a::A>> From<T> for B { fn from(_: T) -> Self { B } }",
        "fn h(b: &B) { let crate::a::A(_) = b; }",
        "fn h() { <crate::a::A as Default>::default(); }",
        "fn h() { <B as From<crate::a::A>>::from(()) }",
        "fn h() { <B as crate::a::Trait>::f() }",
        "fn h(_: <B as crate::a::Trait>::Associated) {}",
        "fn h() { B::<crate::a::A>::new(()) }",
        "mod inner { fn h() { super::super::a::f() } }",
    ] {
        assert!(uses("", b), "{b}");
    }
}

#[test]
fn tokens_of_macros_are_seen() {
    for b in [
        "fn h() { println!(\"{}\", crate::a::f()); }",
        "fn h() { vec![Some(super::a::f())]; }",
        "macro_rules! n { ($x:expr) => { $crate::a::f($x) } }",
        "macro_rules! n { () => { crate::a::f() } }",
        "fn h() { m!(); }",
        "fn h() { println!(\"{}\", m!()); }",
        "fn h() { crate::a::m!(); }",
        "struct C { #[serde(with = \"crate::a::inner\")] c: u8 }",
        "#[error(transparent, of = crate::a::A)] struct C;",
    ] {
        assert!(uses("", b), "{b}");
    }
    assert!(uses("pub use a::f;", "use crate::*;\nfn h() { println!(\"{}\", f()); }"));
    assert!(uses("pub use a::A;", "use crate::*;\nfn h() { println!(\"{}\", A { }); }"));
}

#[test]
fn what_names_no_module_is_not_seen() {
    for b in [
        "#[cfg(test)] mod tests { use crate::a::A; }",
        "#[cfg(all(test, unix))] use crate::a::A;",
        "#[test] fn h() { crate::a::f() }",
        "#[tokio::test] async fn h() { crate::a::f() }",
        "impl B { #[cfg(test)] fn h() { crate::a::f() } }",
        "/// [`crate::a::A`]\nfn h() {}",
        "use super::*;\nuse ::a::A;",
        "use std::a::A;",
        "pub(in crate::a) fn h() {}",
        "use crate::*;\nfn h(inner: u8) -> u8 { inner }",
        "fn h(c: &C) { println!(\"{} {}\", c.a, other::a::f()); }",
        "use crate::*;\nfn h(c: &C) { println!(\"{}\", c.f()); }",
        "macro_rules! n { ($a:path) => { $a::f() } }",
        "mod a { pub fn f() {} }\nfn h() { a::f() }",
    ] {
        assert!(!uses("pub use a::*;", b), "{b}");
    }
    assert!(uses("", "#[cfg(any(test, unix))] use crate::a::A;"));
    assert!(uses("", "#[cfg(not(test))] use crate::a::A;"));
}

/// `crate::route` is a module, and a function that `c` declares. One of both uses `b`.
#[test]
fn a_name_that_means_two_things_means_the_one_that_is_used() {
    let circles = |b: &str, back: &str| {
        let lib = "mod b;\nmod c;\nmod route;\npub use c::route;\n";
        let b = format!("use crate::route;\npub struct B;\nfn h() {{ {b} }}\n");
        let (used, c, route) = ("use crate::b::B;\n", "pub fn route() {}\n", "");
        let c = if back == "c" { format!("{used}{c}") } else { c.to_owned() };
        let route = if back == "route" { used } else { route };
        sets(&[("lib.rs", lib), ("b.rs", &b), ("c.rs", &c), ("route.rs", route)], LARGE)
    };
    assert_eq!(circles("route()", "c"), [": b c"]);
    assert_eq!(circles("route::x()", "route"), [": b route"]);
    assert_eq!(circles("route()", "route"), [] as [&str; 0]);
    assert_eq!(circles("route::x()", "c"), [] as [&str; 0]);
}

#[test]
fn exports_of_what_is_below_are_no_use() {
    let lib = "pub mod a;\npub use a::b::B;\npub struct Root;\n";
    let b = "use crate::Root;\npub struct B;\n";
    let files = |a| sets(&[("lib.rs", lib), ("a/mod.rs", a), ("a/b.rs", b)], LARGE);
    assert!(files("pub mod b;\npub use b::B;\n").is_empty());
    let used = format!("{lib}fn h(_: &B) {{}}\n");
    let files = [("lib.rs", used.as_str()), ("a/mod.rs", "pub mod b;\n"), ("a/b.rs", b)];
    assert_eq!(sets(&files, LARGE), [": a lib"]);
}

#[test]
fn a_large_folder_is_looked_at_inside() {
    let files = [
        ("lib.rs", "mod folder;\n"),
        ("folder/mod.rs", "mod a;\nmod b;\npub struct Shared;\nfn h() { b::f() }\n"),
        ("folder/a.rs", "fn f() { super::b::f() }\npub struct A;\n"),
        ("folder/b/mod.rs", "mod c;\npub fn f() {}\n"),
        ("folder/b/c.rs", "use crate::folder::a::A;\n"),
    ];
    assert!(sets(&files, LARGE).is_empty());
    assert_eq!(sets(&files, 5), ["folder: a b"]);
    let shared: Vec<(&str, &str)> = files
        .into_iter()
        .map(|(name, text)| {
            (name, if name == "folder/a.rs" { "use super::Shared;\n" } else { text })
        })
        .collect();
    assert_eq!(sets(&shared, 5), [] as [&str; 0], "a leaf may use the folder's own file");
    let back = shared.into_iter().map(|(name, text)| {
        (name, if name == "folder/b/mod.rs" { "pub fn f() -> super::Shared {}\n" } else { text })
    });
    assert_eq!(sets(&back.collect::<Vec<_>>(), 5), ["folder: b mod"]);
}

#[test]
fn the_shortest_way_is_shown_with_its_places() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\nmod c;\npub use a::A;\n"),
        ("a.rs", "use crate::b::B;\n\nuse crate::c::C;\npub struct A;\n"),
        ("b.rs", "use crate::c::C;\npub struct B;\n"),
        ("c.rs", "\nuse crate::A;\npub struct C;\n"),
    ];
    let circles = circles_of(&files, LARGE);
    let shown: Vec<String> = circles.iter().map(|(_, circle)| describe("x", circle)).collect();
    assert_eq!(
        shown,
        ["crate x: these modules use each other: a, b, c\n    \
          a uses c at a.rs:3: crate::c::C\n    \
          c uses a at c.rs:2: crate::A"]
    );
}

#[test]
fn the_list_of_known_circles_may_only_shrink() {
    let found = || {
        let circle = |modules: &[&str]| {
            let modules = modules.iter().map(|module| (*module).to_owned()).collect();
            Circle { folder: String::new(), modules, shortest: Vec::new() }
        };
        vec![("om".to_owned(), circle(&["a", "b"]))]
    };
    let known = |place: &str, modules: &[&str]| {
        let modules = modules.iter().map(|module| (*module).to_owned()).collect();
        Known { place: place.to_owned(), modules }
    };
    assert_eq!(faults(&found(), &[known("om", &["a", "b"])]), [] as [&str; 0]);
    let faults_with = |known: Known| faults(&found(), &[known]).join("\n");
    assert!(faults_with(known("om", &["a", "b", "c"])).contains("no longer in the circle: c"));
    assert!(faults_with(known("om", &["a", "c"])).contains("use each other: a, b"));
    assert!(faults_with(known("om", &["a", "c"])).contains("no such circle: a, c"));
    assert!(faults_with(known("scm", &["a", "b"])).contains("use each other: a, b"));
    assert!(faults_with(known("scm", &["a", "b"])).contains("no such circle: a, b"));
}

/// Paths that lead to themselves end.
#[test]
fn imports_in_a_circle_end() {
    let files = [
        ("lib.rs", "mod a;\nmod b;\n"),
        ("a.rs", "pub use super::b::*;\npub use super::b::X;\n"),
        ("b.rs", "pub use super::a::*;\npub use super::a::X;\nfn h() { X::f() }\n"),
    ];
    assert_eq!(sets(&files, LARGE), [": a b"]);
}

#[test]
fn a_file_that_is_not_there_is_an_error() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("lib.rs"), "mod gone;\n").expect("a file");
    let read = of_crate(&folder.path().join("lib.rs"), Path::new("/"), LARGE);
    assert!(read.is_err());
}
