//! `token`: with these machines join the cluster.

use super::{
    Common, Output, load, print,
    setup::{self, Access},
};
use crate::{
    context::Context,
    engine::{
        error::{Exit, StepError},
        report::Report,
    },
    host::files::{NewFile, failed},
    pki::{random::is_bootstrap_token, worker_secrets::WorkerSecrets},
    render::cluster_objects::{BootstrapToken, bootstrap_token},
    steps::{bootstrap_token, cluster::client, worker_token},
};
use base64::{Engine, engine::general_purpose::STANDARD};
use clap::{Args, Subcommand};
use nodeinit_config::Secret;
use serde_json::{Value, json};
use std::{
    path::PathBuf,
    time::{Duration, SystemTime},
};

/// Tokens are Secrets of this type. Source: `k8s.io/cluster-bootstrap/token/api`.
const SECRETS: &str = "/api/v1/namespaces/kube-system/secrets";
const OF_TYPE: &str = "fieldSelector=type%3Dbootstrap.kubernetes.io%2Ftoken";

#[derive(Subcommand)]
pub(super) enum Token {
    /// Make a token and print it
    Create(Create),
    /// The tokens' ids and ends, never their secrets
    List(Common),
    /// Delete a token
    Delete(Delete),
}

#[derive(Args)]
pub(super) struct Create {
    /// How long it is valid, such as 30m, 24h or 7d; by default 24h, for a worker 1h
    #[arg(long, value_parser = duration)]
    ttl: Option<Duration>,
    /// What it is for
    #[arg(long, default_value = "made by nodeinit token create", conflicts_with = "worker")]
    description: String,
    /// A worker of the configuration: its former tokens end, and as JSON all comes that it needs to join
    #[arg(long, value_name = "NAME")]
    worker: Option<String>,
    /// Write that worker's /etc/nodeinit/config.yaml and secrets.yaml into this directory
    #[arg(long, value_name = "DIRECTORY", requires = "worker")]
    files: Option<PathBuf>,
    #[command(flatten)]
    common: Common,
}

#[derive(Args)]
pub(super) struct Delete {
    /// The token's id: what stands before its dot; the whole token will do too
    id: String,
    #[command(flatten)]
    common: Common,
}

pub(super) async fn run(command: Token) -> Exit {
    let (result, output) = match &command {
        Token::Create(args) => (create(args).await, args.common.output),
        Token::List(common) => (list(common).await, common.output),
        Token::Delete(args) => (delete(args).await, args.common.output),
    };
    match result {
        Ok(()) => Exit::Done,
        Err(error) => {
            Report::stdout(output.into()).failed("token", &error);
            error.exit
        }
    }
}

/// As long as kubeadm's.
const VALIDITY: Duration = Duration::from_secs(24 * 3600);

async fn create(args: &Create) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    if let Some(worker) = &args.worker {
        return for_worker(&cx, args, worker).await;
    }
    let validity = args.ttl.unwrap_or(VALIDITY);
    let token = bootstrap_token::random()?;
    let (id, secret) = token.expose().split_once('.').unwrap_or_default();
    let expiration = crate::pki::expiry::date(cx.clock.now() + validity);
    let object = bootstrap_token(&BootstrapToken {
        id: id.to_owned(),
        secret: Secret::new(secret.to_owned()),
        description: args.description.clone(),
        expiration: Some(expiration.clone()),
        worker: None,
    });
    let made = client(&cx)?.create(SECRETS, &object).await;
    made.map_err(|e| StepError::caused("cannot make a bootstrap token", e))?;
    print(&match args.common.output {
        Output::Json => format!("{}\n", json!({"token": token.expose(), "expires": expiration})),
        Output::Text => format!("{}\n", token.expose()),
    })
}

/// A token of one worker, with what it must trust.
async fn for_worker(cx: &Context, args: &Create, worker: &str) -> Result<(), StepError> {
    let loaded = load::load(&cx.files, &args.common.config)?;
    let trust = worker_token::trust(cx)?;
    let Some(config) = loaded.part_of_worker(worker, &trust) else {
        let names: Vec<&str> = cx.cluster.workers.iter().map(|worker| worker.name.as_str()).collect();
        let what = format!("the configuration has no worker {worker:?}; it has {}", names.join(", "));
        return Err(StepError::new(what).exit(Exit::Usage).hint("add it to `workers` first"));
    };
    let validity = args.ttl.unwrap_or(worker_token::VALIDITY);
    let token = worker_token::make(cx, worker, validity).await?;
    if let Some(directory) = &args.files {
        let directory = std::path::absolute(directory).map_err(failed("find", directory))?;
        let secrets = WorkerSecrets { bootstrap_token: token.clone() };
        cx.files.make_directory(&directory, 0o700)?;
        cx.files.write(&[
            NewFile::public(directory.join("config.yaml"), config),
            NewFile::private(directory.join("secrets.yaml"), secrets.text().expose().as_bytes()),
        ])?;
    }
    print(&match args.common.output {
        Output::Json => {
            let expires = crate::pki::expiry::date(cx.clock.now() + validity);
            let object = json!({
                "token": token.expose(), "expires": expires, "worker": worker, "endpoints": trust.endpoints,
                "caCertificate": trust.ca_certificate, "caPins": [trust.ca_pin],
            });
            format!("{object}\n")
        }
        Output::Text => format!("{}\n", token.expose()),
    })
}

async fn list(common: &Common) -> Result<(), StepError> {
    let cx = setup::context(common, Access::Look)?;
    let secrets = client(&cx)?.get(&format!("{SECRETS}?{OF_TYPE}")).await;
    let secrets = secrets.map_err(|e| StepError::caused("cannot list the bootstrap tokens", e))?;
    print(&rendered(&secrets, cx.clock.now(), common.output))
}

fn rendered(secrets: &Value, now: SystemTime, output: Output) -> String {
    let mut text = String::new();
    let now = crate::pki::expiry::date(now);
    for secret in secrets["items"].as_array().into_iter().flatten() {
        let id = field(secret, "token-id");
        let expires = field(secret, "expiration");
        let description = field(secret, "description");
        // Both are RFC 3339 in UTC, so that their order is that of their texts.
        let ended = !expires.is_empty() && expires < now;
        text += &match output {
            Output::Json => {
                json!({"id": id, "expires": expires, "ended": ended, "description": description}).to_string()
            }
            Output::Text => {
                let until = match (expires.as_str(), ended) {
                    ("", _) => "never ends",
                    (until, false) => until,
                    (_, true) => "has ended",
                };
                format!("{id}  {until:22} {description}")
            }
        };
        text.push('\n');
    }
    text
}

fn field(secret: &Value, key: &str) -> String {
    let data = secret["data"][key].as_str().and_then(|data| STANDARD.decode(data).ok());
    data.and_then(|bytes| String::from_utf8(bytes).ok()).unwrap_or_default()
}

async fn delete(args: &Delete) -> Result<(), StepError> {
    let cx = setup::context(&args.common, Access::Look)?;
    let id = args.id.split('.').next().unwrap_or_default();
    if !is_bootstrap_token(&format!("{id}.0123456789abcdef")) {
        let error = StepError::new(format!("{id:?} is no token's id")).exit(Exit::Usage);
        return Err(error.hint("an id is six characters of a-z and 0-9; see `nodeinit token list`"));
    }
    let path = format!("{SECRETS}/bootstrap-token-{id}");
    let api = client(&cx)?;
    let cannot = |e| StepError::caused(format!("cannot delete the bootstrap token {id}"), e);
    if api.find(&path).await.map_err(cannot)?.is_none() {
        return Err(StepError::new(format!("there is no bootstrap token {id}")).hint("see `nodeinit token list`"));
    }
    api.delete(&path).await.map_err(cannot)
}

/// A whole number with its unit: `s`, `m`, `h` or `d`.
fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is no duration; write it as 30m, 24h or 7d");
    let unit = text.chars().next_back().ok_or_else(wrong)?;
    let seconds = match unit {
        's' => 1,
        'm' => 60,
        'h' => 3600,
        'd' => 24 * 3600,
        _ => return Err(wrong()),
    };
    let number: u32 = text[..text.len() - 1].parse().map_err(|_| wrong())?;
    if number == 0 { Err(wrong()) } else { Ok(Duration::from_secs(u64::from(number) * seconds)) }
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
    fn the_list_shows_no_secret() {
        let token = |id: &str, expiration: Option<&str>| {
            bootstrap_token(&BootstrapToken {
                id: id.into(),
                secret: Secret::new("0123456789abcdef".into()),
                description: "for w1".into(),
                expiration: expiration.map(String::from),
                worker: None,
            })
        };
        let secrets = json!({"items": [
            token("aaaaaa", None), token("bbbbbb", Some("2001-01-01T00:00:00Z")), token("cccccc", Some("2999-01-01T00:00:00Z")),
        ]});
        let text = rendered(&secrets, SystemTime::now(), Output::Text);
        assert!(text.contains("aaaaaa  never ends") && text.contains("bbbbbb  has ended"), "{text}");
        assert!(text.contains("cccccc  2999-01-01T00:00:00Z   for w1\n"), "{text}");
        assert!(!text.contains("0123456789abcdef") && !text.contains(&STANDARD.encode("0123456789abcdef")), "{text}");
        assert_eq!(rendered(&secrets, SystemTime::now(), Output::Json).lines().count(), 3);
    }
}
