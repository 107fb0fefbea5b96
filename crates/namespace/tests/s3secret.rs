//! Secret keys of S3 access ids.

use namespace::{Route, Table, create_s3_secret_request, route};
use proto::ozone::*;

use crate::harness::*;

fn get(id: &str, create: Option<bool>) -> OmRequest {
    let r = GetS3SecretRequest { kerberos_id: id.to_owned(), create_if_not_exist: create };
    OmRequest { get_s3_secret_request: Some(Box::new(r)), ..request(Type::GetS3Secret) }
}

fn set(id: &str, secret: &str) -> OmRequest {
    let r =
        SetS3SecretRequest { access_id: Some(id.to_owned()), secret_key: Some(secret.to_owned()) };
    OmRequest { set_s3_secret_request: Some(Box::new(r)), ..request(Type::SetS3Secret) }
}

fn revoke(id: &str) -> OmRequest {
    let r = RevokeS3SecretRequest { kerberos_id: id.to_owned() };
    OmRequest { revoke_s3_secret_request: Some(Box::new(r)), ..request(Type::RevokeS3Secret) }
}

fn secret(r: OmResponse) -> String {
    r.get_s3_secret_response.unwrap().s3_secret.aws_secret
}

#[test]
fn a_secret_is_made_once_and_shown_on_request() {
    let mut om = Om::bare();
    assert_eq!(route(&get("ann", Some(false))), Route::Read);
    assert_eq!(om.refused(get("ann", Some(false))), Status::AccessIdNotFound);
    let made = secret(om.ok(get("ann", None)));
    assert_eq!(made.len(), 64);
    assert_eq!(om.refused(get("ann", Some(true))), Status::S3SecretAlreadyExists);
    assert_eq!(secret(om.ok(get("ann", Some(false)))), made);
    assert_eq!(om.rows(Table::S3SecretTable), ["ann"]);
}

#[test]
fn secrets_are_set_and_revoked() {
    let mut om = Om::bare();
    assert_eq!(om.refused(set("ann", "long enough")), Status::AccessIdNotFound);
    om.ok(get("ann", None));
    assert_eq!(om.refused(set("ann", "short")), Status::InvalidRequest);
    assert_eq!(om.refused(set("", "long enough")), Status::InvalidRequest);
    om.ok(set("ann", "long enough"));
    assert_eq!(secret(om.ok(get("ann", Some(false)))), "long enough");
    om.ok(revoke("ann"));
    assert_eq!(om.refused(revoke("ann")), Status::S3SecretNotFound);
    assert!(om.rows(Table::S3SecretTable).is_empty());
}

#[test]
fn the_first_key_pair_is_the_servers_choice() {
    let mut om = Om::bare();
    let r = om.log_and_apply(create_s3_secret_request("root", "its secret"));
    assert_eq!(status(&r), Status::Ok);
    assert_eq!(secret(om.ok(get("root", Some(false)))), "its secret");
    let r = om.log_and_apply(create_s3_secret_request("root", "another"));
    assert_eq!(status(&r), Status::S3SecretAlreadyExists);
}
