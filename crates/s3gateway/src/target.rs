//! Target of a request, as far as `s3s` does not check it: `s3s` ignores unknown names in a query,
//! and would apply a request for a sub-resource to the resource itself.

use std::borrow::Cow;

use http::{Method, Request};
use s3s::S3Result;

use crate::errors::{invalid_argument, not_implemented};

/// Sub-resources that are served to modifying requests.
const SERVED: [&str; 3] = ["delete", "tagging", "uploads"];

/// Sub-resources that `s3s` lacks: it would respond with the object or the bucket's listing.
const UNKNOWN_TO_S3S: [&str; 3] = ["abac", "annotation", "metadataConfiguration"];

/// Names that may have no value and change nothing.
const HARMLESS: [&str; 2] = ["versionId", "x-id"];

/// Checks a request's query.
///
/// # Errors
/// `NotImplemented` for a sub-resource that is not served, where `s3s` would create, replace,
/// delete or return the bucket or object instead; `InvalidArgument` for a part without its upload,
/// which `s3s` would take for the object.
pub(crate) fn check<B>(request: &Request<B>) -> S3Result<()> {
    let query = request.uri().query().unwrap_or_default();
    let pairs = || query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, "")));
    let mut names = pairs().map(|(name, _)| decoded(name));
    if let Some(name) = names.find(|name| UNKNOWN_TO_S3S.contains(&&**name)) {
        return Err(not_implemented(&name));
    }
    if ![Method::PUT, Method::POST, Method::DELETE].contains(request.method()) {
        return Ok(());
    }
    for (name, value) in pairs() {
        let name = decoded(name);
        let is_sub_resource = value.is_empty() && !name.is_empty();
        let is_known = SERVED.contains(&&*name)
            || HARMLESS.contains(&&*name)
            || name.to_ascii_lowercase().starts_with("x-amz-");
        if is_sub_resource && !is_known && !is_of_upload(&name) {
            return Err(not_implemented(&name));
        }
    }
    let has = |wanted: &str| pairs().any(|(name, _)| decoded(name) == wanted);
    if request.method() == Method::PUT && has("partNumber") != has("uploadId") {
        return Err(invalid_argument("partNumber and uploadId must be given together"));
    }
    Ok(())
}

fn is_of_upload(name: &str) -> bool {
    name == "partNumber" || name == "uploadId"
}

/// Decodes part of a query as `s3s` does.
pub(crate) fn decoded(text: &str) -> Cow<'_, str> {
    percent_encoding::percent_decode_str(text).decode_utf8_lossy()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(method: Method, query: &str) -> Option<String> {
        let request = Request::builder().method(method).uri(format!("/bucket/key?{query}"));
        let refused = check(&request.body(()).unwrap()).err();
        refused.map(|error| error.code().as_str().to_owned())
    }

    #[test]
    fn a_sub_resource_that_is_not_served_is_refused_where_something_changes() {
        for query in
            ["acl", "accelerate=", "renameObject&x-id=RenameObject", "%61cl", "uploads&acl"]
        {
            for method in [Method::PUT, Method::POST, Method::DELETE] {
                assert_eq!(checked(method, query).as_deref(), Some("NotImplemented"), "{query}");
            }
            assert_eq!(checked(Method::GET, query), None, "{query}");
        }
        for query in [
            "",
            "&&",
            "uploads",
            "delete=",
            "tagging",
            "x-id=PutObject",
            "versionId=",
            "X-Amz-Security-Token=",
        ] {
            for method in [Method::PUT, Method::POST, Method::DELETE] {
                assert_eq!(checked(method, query), None, "{query}");
            }
        }
    }

    #[test]
    fn a_sub_resource_that_s3s_does_not_know_is_not_answered_with_what_it_is_of() {
        for query in ["abac", "annotation&annotationName=x", "list-type=2&metadataConfiguration="] {
            for method in [Method::GET, Method::HEAD, Method::PUT] {
                assert_eq!(checked(method, query).as_deref(), Some("NotImplemented"), "{query}");
            }
        }
        assert_eq!(checked(Method::GET, "prefix=abac&delimiter=&own"), None);
    }

    #[test]
    fn a_part_belongs_to_an_upload() {
        for query in ["partNumber=1", "uploadId=x", "partNumber", "uploadId="] {
            assert_eq!(checked(Method::PUT, query).as_deref(), Some("InvalidArgument"), "{query}");
        }
        assert_eq!(checked(Method::PUT, "partNumber=1&uploadId=x"), None);
        assert_eq!(checked(Method::DELETE, "uploadId=x"), None);
    }
}
