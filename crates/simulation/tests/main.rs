//! Seeds that are run each time (those that found something once, and a few fresh ones), and
//! scripts.

mod scripts;
mod seeds;
