//! `config import`: a configuration from a file of another tool.

use super::super::{load, print};
use crate::{
    engine::error::{Exit, StepError},
    render,
};
use clap::{Args, ValueEnum};
use nodeinit_config::import::{self, Imported, Tool};
use nodeinit_screen::tell;
use std::path::PathBuf;

#[derive(Args)]
pub(in crate::cli) struct Import {
    /// The tool whose file is read
    #[arg(value_enum)]
    tool: From,
    /// The file; `-` is standard input
    file: PathBuf,
}

#[derive(Clone, Copy, ValueEnum)]
enum From {
    /// The documents of `kubeadm init --config`
    Kubeadm,
    /// The file of `k0sctl apply --config`
    K0sctl,
}

/// Prints the configuration, and to standard error what was not translated.
pub(super) fn import(args: &Import) -> Result<(), StepError> {
    let tool = match args.tool {
        From::Kubeadm => Tool::Kubeadm,
        From::K0sctl => Tool::K0sctl,
    };
    let bytes = load::named(&args.file)?;
    let unreadable = |why: String| {
        let what = format!("cannot import {}: {why}", args.file.display());
        StepError::new(what).exit(Exit::BadConfig).hint("check the file, and the name of the tool before it")
    };
    let text = String::from_utf8(bytes).map_err(|_| unreadable("it is not UTF-8".to_owned()))?;
    let Imported { config, notes } = import::import(tool, &text).map_err(unreadable)?;
    print(&render::yaml::text("the configuration", &config)?)?;
    notes.iter().for_each(|note| tell(&format!("note: {note}")));
    Ok(())
}
