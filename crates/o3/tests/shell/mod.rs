//! `o3 sh` and `o3 admin`: output, errors and exit status of every command.

mod admin;
mod debug;
mod deletion;
mod repair;
mod service;
mod user;
