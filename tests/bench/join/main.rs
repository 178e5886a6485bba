//! Many workers that join at the same time with nodeinit's code, without kubelets: against a real API server, or in a model of one.
//!
//!     join run DIRECTORY ADDRESS COUNT APPROVER   DIRECTORY has the super-admin.conf and ca.crt of a master; ADDRESS is its API server;
//!                                                 APPROVER is agent, or kubernetes for a cluster without nodeinit's agent
//!     join model FILE COUNT                       FILE has the measured costs, as one JSON object
#![allow(clippy::disallowed_methods, clippy::disallowed_macros, reason = "it runs on a developer machine, and prints")]
#![allow(clippy::unwrap_used, reason = "a measurement panics on an unexpected value")]

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
