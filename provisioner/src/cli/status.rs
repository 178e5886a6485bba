//! What there is in the cloud, and what the first master says of the cluster.

use super::{Operator, Source, Verbosity, apply::delivery, session::Session};
use crate::{delivery::State, error::Error, report, resources::Found, secrets::Secrets};
use nodeinit_protocol::Exit;
use std::time::{Duration, Instant};

/// How soon the first master must accept the login: `status` does not wait for a machine to boot.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) async fn run(source: &Source, resources_only: bool, verbosity: Verbosity) -> Result<Exit, Error> {
    let session = Session::open(source, verbosity).await?;
    let ours = session.ours().await?;
    report::status(&ours, &session.output);
    if !resources_only && !ours.is_empty() {
        let told = ask(&session, &ours).await;
        report::machines(&session.loaded.cluster, &ours, &told, &session.output);
    }
    Ok(Exit::Done)
}

async fn ask(session: &Session, ours: &[Found]) -> Result<State, Error> {
    // Nothing is made for a look.
    if !session.secrets.exists() {
        return Err(Error::Refused {
            what: format!("there is no {}, which contains the SSH key for the machines", session.secrets.display()),
            remedy: "pass the cluster's secrets bundle with --secrets".to_owned(),
        });
    }
    let secrets = Secrets::read(&session.secrets)?;
    let mut delivery = delivery(session, &Operator::default(), &secrets, ours.to_vec(), Instant::now());
    delivery.patience = PATIENCE;
    delivery.state().await
}
