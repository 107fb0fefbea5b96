//! Tests of SCM as its clients and DataNodes see it.
