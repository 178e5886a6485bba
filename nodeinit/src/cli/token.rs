//! `token`: manages bootstrap tokens.

use super::{
    Common, Output, print,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::error::{Exit, StepError},
    host::files::{NewFile, failed},
    pki::expiry::date,
    steps::tokens::{
        self, Live,
        ledger::{Entry, Ledger},
    },
};
use clap::{Args, Subcommand};
use nodeinit_protocol::WorkerSecrets;
use nodeinit_protocol::token::{TokenStatus, is_bootstrap_token};
use serde_json::json;
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

#[derive(Subcommand)]
pub(super) enum Token {
    /// Create a token and print it
    Create(Create),
    /// List tokens with their expiry, never their secrets
    List(List),
    /// Revoke a token; it never becomes valid again
    Delete(Delete),
}

#[derive(Args)]
pub(super) struct Create {
    /// Lifetime, such as 30m, 24h or 7d; default 24h, for a worker 1h
    #[arg(long, value_parser = duration)]
    ttl: Option<Duration>,
    /// The token's purpose
    #[arg(long, default_value = "created by nodeinit token create", conflicts_with = "worker")]
    description: String,
    /// Create the token of one configured worker and revoke its earlier tokens; JSON output contains everything it needs to
    /// join
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Write that worker's /etc/nodeinit/config.yaml and secrets.yaml into this directory
    #[arg(long, value_name = "DIRECTORY", requires = "worker")]
    files: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct List {
    /// Also list used, expired and revoked tokens
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Delete {
    /// The token's ID (the part before the dot), or the whole token
    #[arg(required_unless_present = "spent", conflicts_with = "spent")]
    id: Option<String>,
    /// Delete the tokens of all workers that have joined
    #[arg(long)]
    spent: bool,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Token) -> Exit {
    let (result, printing) = match &command {
        Token::Create(args) => (create(args).await, args.common.printing),
        Token::List(args) => (list(args).await, args.common.printing),
        Token::Delete(args) => (delete(args).await, args.common.printing),
    };
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            printing.report().failed("token", &error);
            error.exit
        }
    }
}

/// The default lifetime, as in kubeadm.
const VALIDITY: Duration = Duration::from_secs(24 * 3600);

async fn create(args: &Create) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    if let Some(worker) = &args.worker {
        return for_worker(&cx, args, worker).await;
    }
    let (token, expires) = tokens::create(&cx, None, &args.description, args.ttl.unwrap_or(VALIDITY)).await?;
    print(&match args.common.printing.output {
        Output::Json => format!("{}\n", json!({"token": token.expose(), "expires": expires})),
        Output::Text => format!("{}\n", token.expose()),
    })
}

/// Creates a token for one worker, with the data that it needs to trust the cluster.
async fn for_worker(cx: &Context, args: &Create, worker: &str) -> Result<(), StepError> {
    let trust = tokens::trust(cx)?;
    let Some(config) = cx.loaded.worker_config(worker, &trust) else {
        let names: Vec<&str> = cx.cluster.workers.iter().map(|worker| worker.name.as_str()).collect();
        let what = format!("{worker:?} is not listed under `workers`; listed: {}", names.join(", "));
        return Err(StepError::new(what).exit(Exit::Usage).hint("add it to `workers` in the configuration first"));
    };
    let description = format!("join of worker {worker}");
    let validity = args.ttl.unwrap_or(tokens::DELIVERED);
    let (token, expires) = tokens::create(cx, Some(worker), &description, validity).await?;
    if let Some(directory) = &args.files {
        let directory = std::path::absolute(directory).map_err(failed("find", directory))?;
        let secrets = WorkerSecrets { bootstrap_token: token.clone() };
        cx.files.make_directory(&directory, 0o700)?;
        cx.files.write(&[
            NewFile::public(directory.join("config.yaml"), config),
            NewFile::private(directory.join("secrets.yaml"), secrets.text().expose().as_bytes()),
        ])?;
    }
    print(&match args.common.printing.output {
        Output::Json => {
            let object = json!({
                "token": token.expose(), "expires": expires, "worker": worker, "endpoints": trust.endpoints,
                "caCertificate": trust.ca_certificate, "caPins": [trust.ca_pin],
            });
            format!("{object}\n")
        }
        Output::Text => format!("{}\n", token.expose()),
    })
}

async fn list(args: &List) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let live = tokens::list(&cx).await?;
    let ledger = if args.all { Ledger::read(&cx).await? } else { None };
    let closed = ledger.map(|ledger| ledger.entries).unwrap_or_default();
    print(&rendered(&live, &closed, &date(cx.clock.now()), args.common.printing.output))
}

/// Formats the cluster's tokens, then the closed tokens of the ledger.
fn rendered(live: &[Live], ledger: &BTreeMap<String, Entry>, now: &str, output: Output) -> String {
    let mut text = String::new();
    let mut put = |id: &str, worker: Option<&str>, state: &str, time: &str, description: &str| {
        text += &match output {
            Output::Json => {
                let is_closed = state != "valid" && state != "expired";
                json!(TokenStatus {
                    id: id.to_owned(),
                    worker: worker.map(str::to_owned),
                    state: state.to_owned(),
                    expires: Some(time.to_owned()).filter(|_| !is_closed),
                    closed: Some(time.to_owned()).filter(|_| is_closed),
                    ended: state != "valid",
                    description: description.to_owned(),
                })
                .to_string()
            }
            Output::Text => {
                let time = match (time, state) {
                    ("", "valid") => "never expires",
                    ("", _) => "-",
                    _ => time,
                };
                format!("{id}  {state:8} {time:22} {description}").trim_end().to_owned()
            }
        };
        text.push('\n');
    };
    for token in live {
        // Both times are RFC 3339 in UTC, so comparing the texts compares the times.
        let expired = !token.expires.is_empty() && token.expires.as_str() < now;
        let state = if expired { "expired" } else { "valid" };
        put(&token.id, token.worker.as_deref(), state, &token.expires, &token.description);
    }
    for (id, entry) in ledger.iter().filter(|(id, _)| !live.iter().any(|token| token.id == **id)) {
        let state = if entry.state.is_open() && entry.time.as_str() < now {
            "expired".to_owned()
        } else {
            entry.state.to_string()
        };
        let whose = entry.worker.as_ref().map_or_else(String::new, |worker| format!("of worker {worker}"));
        put(id, entry.worker.as_deref(), &state, &entry.time, &whose);
    }
    text
}

async fn delete(args: &Delete) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let Some(id) = &args.id else {
        for what in tokens::delete_spent(&cx).await? {
            cx.report.note("token", what);
        }
        return Ok(());
    };
    let id = id.split('.').next().unwrap_or_default();
    if !is_bootstrap_token(&format!("{id}.0123456789abcdef")) {
        let error = StepError::new(format!("{id:?} is not a token ID")).exit(Exit::Usage);
        return Err(error.hint("an ID has six characters of a-z and 0-9; see `nodeinit token list`"));
    }
    match tokens::revoke(&cx, id).await? {
        true => Ok(()),
        false => {
            Err(StepError::new(format!("there is no bootstrap token {id}")).hint("see `nodeinit token list --all`"))
        }
    }
}

/// Parses a lifetime of at least a second.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration; write it as 30m, 24h or 7d");
    nodeinit_base::duration::parse(text).filter(|time| *time >= Duration::from_secs(1)).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit() {
        assert_eq!(duration("30m"), Ok(Duration::from_secs(1800)));
        assert_eq!(duration("7d"), Ok(Duration::from_secs(604_800)));
        for wrong in ["", "24", "h", "0h", "-1h", "1.5h", "1w", "24hh"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_list_shows_live_and_closed_tokens() {
        use crate::steps::tokens::ledger::{Origin, State};
        let live = |id: &str, expires: &str| Live {
            id: id.into(),
            worker: None,
            expires: expires.into(),
            description: "for w1".into(),
        };
        let live = [live("aaaaaa", ""), live("bbbbbb", "2001-01-01T00:00:00Z"), live("cccccc", "2999-01-01T00:00:00Z")];
        let entry =
            |state, time: &str| Entry { worker: Some("w2".into()), state, time: time.into(), origin: Origin::Bundle };
        let ledger = BTreeMap::from([
            ("cccccc".into(), entry(State::Valid, "2999-01-01T00:00:00Z")),
            ("dddddd".into(), entry(State::Valid, "2001-01-01T00:00:00Z")),
            ("eeeeee".into(), entry(State::Used, "2001-01-02T00:00:00Z")),
        ]);
        let text = rendered(&live, &ledger, "2026-01-01T00:00:00Z", Output::Text);
        let wanted = "aaaaaa  valid    never expires          for w1\n\
                      bbbbbb  expired  2001-01-01T00:00:00Z   for w1\n\
                      cccccc  valid    2999-01-01T00:00:00Z   for w1\n\
                      dddddd  expired  2001-01-01T00:00:00Z   of worker w2\n\
                      eeeeee  used     2001-01-02T00:00:00Z   of worker w2\n";
        assert_eq!(text, wanted);
        let objects = rendered(&live, &ledger, "2026-01-01T00:00:00Z", Output::Json);
        let read: Vec<TokenStatus> = TokenStatus::read(&objects).collect();
        let times: Vec<_> = read.iter().map(|token| (token.expires.as_deref(), token.closed.as_deref())).collect();
        let expires = |time| (Some(time), None);
        let wanted = [
            expires(""),
            expires("2001-01-01T00:00:00Z"),
            expires("2999-01-01T00:00:00Z"),
            expires("2001-01-01T00:00:00Z"),
            (None, Some("2001-01-02T00:00:00Z")),
        ];
        assert_eq!(times, wanted, "a token that was used has no expiry");
        let used = &read[4];
        assert_eq!((used.id.as_str(), used.state.as_str(), used.worker.as_deref()), ("eeeeee", "used", Some("w2")));
    }
}
