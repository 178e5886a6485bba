//! `nodeinit`: start, report, exit code.
fn main() {}
