//! Tests of the gateway over HTTP.
