//! Runs programs of the distribution, which may have to wait for a lock.

use super::no_proxy;
use crate::{context::Context, engine::error::StepError, host::commands::CommandError, os::PackageManager};
use std::time::Duration;
use tokio::time::Instant;

/// The pause before another attempt while another package manager runs.
const PAUSE: Duration = Duration::from_secs(2);

/// Runs a program; while it reports a lock of another process, waits and runs it again until `limit`. For a package manager, also repairs
/// what an interrupted run has left, and knows its exit codes.
pub(super) async fn run(
    cx: &Context,
    manager: Option<&PackageManager>,
    argv: &[&str],
    limit: Duration,
) -> Result<(), StepError> {
    // The files of apt and dnf name a proxy, but no hosts that are reached without it.
    let direct = manager.and_then(|_| no_proxy::value(cx)).unwrap_or_default();
    let environment = [("no_proxy", direct.as_str()), ("NO_PROXY", direct.as_str())];
    let environment = if direct.is_empty() { &[][..] } else { &environment[..] };
    let until = Instant::now() + limit;
    let mut repair = manager.and_then(|manager| manager.repair);
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let Err(error) = cx.commands.run_in(environment, argv, &[], left.max(PAUSE)).await else { return Ok(()) };
        let is_one_of = |codes: &[i32]| error.code().is_some_and(|code| codes.contains(&code));
        if manager.is_some_and(|manager| is_one_of(manager.success)) {
            return Ok(());
        }
        let text = error.to_string();
        let is_locked = ["Could not get lock", "is locked", "Unable to lock"].iter().any(|lock| text.contains(lock));
        if left < PAUSE {
            return Err(error.into());
        } else if let Some((_, command)) = repair.take_if(|(report, _)| text.contains(*report)) {
            cx.commands.run(command, left).await?;
        } else if is_locked || manager.is_some_and(|manager| is_one_of(manager.again)) {
            tokio::time::sleep(PAUSE).await;
        } else {
            return Err(error.into());
        }
    }
}

/// Returns the error of a program that a key of the configuration needs.
pub(super) fn named(error: CommandError, key: &str) -> StepError {
    let is_missing = error.is_missing();
    let error = StepError::from(error);
    match is_missing {
        true => error.hint(format!("`{key}` needs this program: add its package to `os.packages.install`")),
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    const LIMIT: Duration = Duration::from_secs(20);

    fn manager(repair: &'static [&'static str]) -> PackageManager {
        PackageManager {
            program: "sh",
            refresh: &[],
            install: &[],
            update: &[],
            update_security: &[],
            remove: &[],
            query: &[],
            sources: &[],
            success: &[102],
            again: &[103],
            repair: Some(("run `repair`", repair)),
        }
    }

    #[tokio::test]
    async fn exit_codes_of_a_package_manager_are_known() {
        let (dir, cx) = context();
        let manager = manager(&["false"]);
        run(&cx, Some(&manager), &["sh", "-c", "exit 102"], LIMIT).await.unwrap();
        run(&cx, None, &["sh", "-c", "exit 102"], LIMIT).await.unwrap_err();
        let mark = dir.path().join("mark");
        let second = format!("[ ! -e {0} ] || exit 0; touch {0}; exit 103", mark.display());
        run(&cx, Some(&manager), &["sh", "-c", &second], LIMIT).await.unwrap();
        assert!(mark.exists(), "it ran twice");
    }

    #[tokio::test]
    async fn an_interrupted_package_manager_is_repaired_once() {
        let (_dir, cx) = context();
        let attempt = ["sh", "-c", "echo 'E: interrupted, run `repair`' >&2; exit 100"];
        let error =
            run(&cx, Some(&manager(&["sh", "-c", "echo broken >&2; exit 7"])), &attempt, LIMIT).await.unwrap_err();
        assert!(error.to_string().contains("exit status: 7"), "{error}");
        let error = run(&cx, Some(&manager(&["true"])), &attempt, LIMIT).await.unwrap_err();
        assert!(error.to_string().contains("exit status: 100"), "{error}");
    }
}
