//! Listings: complete pages, and names that XML cannot represent.

use testkit::S3Request;

use super::cluster::{Cluster, code};

#[tokio::test]
async fn pages_of_any_size_add_up() {
    let cluster = Cluster::start().await;
    let mut names: Vec<String> = (0..7).map(|n| format!("dir{}/{n}", n % 3)).collect();
    names.extend(["dir".to_owned(), "dir0".to_owned(), "z".to_owned()]);
    for name in &names {
        cluster.put(&format!("/bucket/{name}"), "x").await;
    }
    names.sort();
    let rolled = ["dir", "dir0", "dir0/", "dir1/", "dir2/", "z"];
    for size in 1..=11 {
        let (mut v2, mut v1, mut by_prefix) = (Vec::new(), Vec::new(), Vec::new());
        let mut token = String::new();
        loop {
            let target = format!("/bucket?list-type=2&max-keys={size}{token}");
            let page = cluster.ask("GET", &target).await;
            let keys = page.elements("Key");
            assert_eq!(page.element("KeyCount"), Some(keys.len().to_string()));
            assert!(keys.len() <= size, "{target}: {keys:?}");
            v2.extend(keys);
            let Some(next) = page.element("NextContinuationToken") else { break };
            assert_eq!(page.element("IsTruncated").as_deref(), Some("true"));
            token = format!("&continuation-token={next}");
        }
        assert_eq!(v2, names, "by {size}");
        let mut marker = String::new();
        loop {
            let page = cluster.ask("GET", &format!("/bucket?max-keys={size}{marker}")).await;
            v1.extend(page.elements("Key"));
            if page.element("IsTruncated").as_deref() != Some("true") {
                break;
            }
            marker = format!("&marker={}", v1[v1.len() - 1].replace('/', "%2F"));
        }
        assert_eq!(v1, names, "by {size}");
        let mut token = String::new();
        loop {
            let target = format!("/bucket?list-type=2&delimiter=%2F&max-keys={size}{token}");
            let page = cluster.ask("GET", &target).await;
            by_prefix.extend(page.elements("Key"));
            let common = page.text();
            let common = common.split("<CommonPrefixes>").skip(1);
            by_prefix.extend(common.map(|text| {
                text.split_once("<Prefix>").unwrap().1.split_once('<').unwrap().0.to_owned()
            }));
            let Some(next) = page.element("NextContinuationToken") else { break };
            token = format!("&continuation-token={next}");
        }
        by_prefix.sort();
        assert_eq!(by_prefix, rolled, "by {size}");
    }
    let none = cluster.ask("GET", "/bucket?list-type=2&max-keys=0").await;
    assert_eq!((none.status, none.element("KeyCount").as_deref()), (200, Some("0")));
    assert_eq!(none.element("IsTruncated").as_deref(), Some("false"));
    let most = cluster.ask("GET", "/bucket?list-type=2&max-keys=2147483647").await;
    assert_eq!(most.elements("Key"), names);
    let after = cluster.ask("GET", "/bucket?list-type=2&start-after=dir2").await;
    assert_eq!(after.elements("Key"), ["dir2/2", "dir2/5", "z"]);
    cluster.stop().await;
}

#[tokio::test]
async fn names_come_back_as_they_were_stored() {
    let cluster = Cluster::start().await;
    // The name as sent, as in a plain listing, as in an encoded one.
    let names = [
        ("%20", " ", "%20"),
        ("%22quoted%22", "&quot;quoted&quot;", "%22quoted%22"),
        ("%3Ctag%3E%26amp%3B", "&lt;tag&gt;&amp;amp;", "%3Ctag%3E%26amp%3B"),
        ("a%2Bb%25c", "a+b%c", "a%2Bb%25c"),
        ("%C3%BC/%E6%97%A5", "ü/日", "%C3%BC/%E6%97%A5"),
        ("%F0%9F%98%80", "😀", "%F0%9F%98%80"),
    ];
    for (sent, _, _) in names {
        cluster.put(&format!("/bucket/{sent}"), sent).await;
    }
    let mut plain = cluster.ask("GET", "/bucket?list-type=2").await.elements("Key");
    let mut told: Vec<String> = names.iter().map(|(_, told, _)| (*told).to_owned()).collect();
    plain.sort();
    told.sort();
    // `"` needs no escape in text; either form is right.
    let unquoted = |names: &[String]| -> Vec<String> {
        names.iter().map(|name| name.replace("&quot;", "\"")).collect()
    };
    assert_eq!(unquoted(&plain), unquoted(&told));
    for form in ["/bucket?list-type=2&encoding-type=url", "/bucket?encoding-type=url"] {
        let page = cluster.ask("GET", form).await;
        assert_eq!(page.element("EncodingType").as_deref(), Some("url"));
        let mut encoded = page.elements("Key");
        let mut told: Vec<String> = names.iter().map(|(_, _, told)| (*told).to_owned()).collect();
        encoded.sort();
        told.sort();
        assert_eq!(encoded, told);
    }
    for (sent, _, _) in names {
        assert_eq!(cluster.get(&format!("/bucket/{sent}")).await, sent.as_bytes());
    }
    cluster.stop().await;
}

/// XML 1.0 cannot represent most control characters: every parser rejects a document with one of
/// them, and thereby the whole page.
#[tokio::test]
async fn a_name_that_xml_cannot_carry_spoils_no_listing() {
    let cluster = Cluster::start().await;
    cluster.put("/bucket/plain", "x").await;
    let stored = cluster.send(&S3Request::new("PUT", "/bucket/bell%07%01").body("x")).await;
    assert_eq!(stored.status, 200, "{}", stored.text());
    assert_eq!(cluster.ask("POST", "/bucket/bell%07?uploads").await.status, 200);
    let encoded = ["bell%07%01", "plain"];
    // Encoded although not requested, and reported as encoded.
    for (target, names) in [
        ("/bucket?list-type=2&encoding-type=url", &encoded[..]),
        ("/bucket?list-type=2", &encoded),
        ("/bucket?list-type=2&prefix=bell%07", &encoded[..1]),
        ("/bucket?list-type=2&start-after=%01&prefix=p", &encoded[1..]),
        ("/bucket", &encoded),
        ("/bucket?versions", &encoded),
        ("/bucket?uploads", &["bell%07"]),
    ] {
        let page = cluster.ask("GET", target).await;
        assert_eq!(
            (page.status, page.elements("Key")),
            (200, names.iter().map(|n| (*n).into()).collect())
        );
        assert_eq!(page.element("EncodingType").as_deref(), Some("url"), "{target}");
        assert!(page.body.iter().all(|byte| *byte >= 0x20), "{target}: {:?}", page.text());
    }
    // A page without such a name is unchanged.
    let plain = cluster.ask("GET", "/bucket?list-type=2&prefix=p").await;
    assert_eq!(
        (plain.elements("Key"), plain.element("EncodingType")),
        (vec!["plain".into()], None)
    );
    cluster.stop().await;
}

#[tokio::test]
async fn uploads_and_buckets_are_listed_in_pages_too() {
    let cluster = Cluster::start().await;
    for name in ["a/1", "a/2", "b", "c"] {
        assert_eq!(cluster.ask("POST", &format!("/bucket/{name}?uploads")).await.status, 200);
    }
    let (mut keys, mut after) = (Vec::new(), String::new());
    loop {
        let target = format!("/bucket?uploads&max-uploads=1{after}");
        let page = cluster.ask("GET", &target).await;
        assert_eq!(page.status, 200, "{}", page.text());
        keys.extend(page.elements("Key"));
        if page.element("IsTruncated").as_deref() != Some("true") {
            break;
        }
        let (key, id) =
            (page.element("NextKeyMarker").unwrap(), page.element("NextUploadIdMarker").unwrap());
        after = format!("&key-marker={}&upload-id-marker={id}", key.replace('/', "%2F"));
        assert!(keys.len() < 10, "pages without end: {keys:?}");
    }
    assert_eq!(keys, ["a/1", "a/2", "b", "c"]);
    let rolled = cluster.ask("GET", "/bucket?uploads&delimiter=%2F").await;
    assert_eq!(rolled.elements("Key"), ["b", "c"]);
    assert!(rolled.text().contains("<Prefix>a/</Prefix>"), "{}", rolled.text());
    let refused = cluster.ask("GET", "/bucket?uploads&max-uploads=-1").await;
    assert_eq!(refused.outcome(), code(400, "InvalidArgument"));
    for name in ["b1", "b2"] {
        assert_eq!(cluster.ask("PUT", &format!("/{name}0")).await.status, 200);
    }
    let first = cluster.ask("GET", "/?max-buckets=2").await;
    assert_eq!(first.elements("Name"), ["b10", "b20"]);
    let token = first.element("ContinuationToken").unwrap();
    let second = cluster.ask("GET", &format!("/?max-buckets=2&continuation-token={token}")).await;
    assert_eq!(second.elements("Name"), ["bucket"]);
    assert_eq!(second.element("ContinuationToken"), None);
    cluster.stop().await;
}
