//! `o3 sh` and `o3 admin`: what every verb prints, what it refuses, and with which exit status.

mod admin;
mod debug;
mod deletion;
mod repair;
mod service;
mod user;
