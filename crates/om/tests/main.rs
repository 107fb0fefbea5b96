//! End-to-end tests of OM.
