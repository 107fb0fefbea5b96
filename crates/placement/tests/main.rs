//! Tests of SCM's rules.
