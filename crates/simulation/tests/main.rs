//! Seeds that are run each time: those that found something once, and a few fresh ones.

mod seeds;
