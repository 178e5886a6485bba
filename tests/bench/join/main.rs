//! Workers that join all at once, by nodeinit's own code and without kubelets: against a real API server, or in a model of one.
//!
//!     join run DIRECTORY ADDRESS COUNT APPROVER   DIRECTORY has a master's super-admin.conf and ca.crt; ADDRESS is its API server's;
//!                                                 APPROVER is agent, or kubernetes for a cluster without nodeinit's agent
//!     join model FILE COUNT                       FILE has costs that were measured, as one JSON object
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "it runs on the desk, and prints")]
#![allow(clippy::unwrap_used, reason = "a measurement ends where something is not as it expects")]

mod model;
mod run;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["run", directory, address, count, approver @ ("agent" | "kubernetes")] => {
            run::all(directory, address, count.parse().unwrap(), approver == "agent");
        }
        ["model", file, count] => model::print(file, count.parse().unwrap()),
        _ => {
            eprintln!("usage: join run DIRECTORY ADDRESS COUNT agent|kubernetes, join model FILE COUNT");
            return ExitCode::from(64);
        }
    }
    ExitCode::SUCCESS
}
