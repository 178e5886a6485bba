//! For machines that no cloud makes: what each of them is given, to be brought there by hand.

use super::{Source, program, read};
use crate::{
    error::Error,
    output::{self, write_private},
    secrets::Secrets,
    userdata::{self, Inputs, UserDataError},
};
use std::{path::Path, process::ExitCode};

pub(super) fn user_data(source: &Source, name: &str) -> Result<ExitCode, Error> {
    let loaded = read(source)?;
    let secrets = Secrets::open(&source.secrets, program(&loaded))?;
    let text = userdata::of(&loaded, name, &Inputs::default(), &secrets).map_err(wrong)?;
    output::line(text.trim_end());
    Ok(ExitCode::SUCCESS)
}

pub(super) fn bundle(source: &Source, name: &str, out: Option<&Path>) -> Result<ExitCode, Error> {
    let loaded = read(source)?;
    let secrets = Secrets::open(&source.secrets, program(&loaded))?;
    match (userdata::secrets_of(&loaded, name, &secrets).map_err(wrong)?, out) {
        (Some(text), Some(file)) => write_private(file, text.expose())?,
        (Some(text), None) => output::line(text.expose().trim_end()),
        (None, _) => eprintln!("{name} needs no secrets of its own: the first master brings it all of them over SSH"),
    }
    Ok(ExitCode::SUCCESS)
}

fn wrong(error: UserDataError) -> Error {
    Error::Configuration { what: error.to_string(), remedy: error.remedy().to_owned() }
}
