//! The operator's programs that run during a rollout.

use crate::{context::Context, engine::error::StepError};
use nodeinit_config::cluster::Role;

/// When a program runs.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hook {
    Before,
    BeforeMachine,
    AfterMachine,
    After,
}

/// Runs a hook if it is configured, and reports what it prints.
///
/// # Errors
/// If it fails, or exceeds `timeouts.node`.
pub(super) async fn run(cx: &Context, hook: Hook, machine: Option<(&str, Role)>) -> Result<(), StepError> {
    let hooks = &cx.cluster.rollout.hooks;
    let (name, program) = match hook {
        Hook::Before => ("before", &hooks.before),
        Hook::BeforeMachine => ("beforeMachine", &hooks.before_machine),
        Hook::AfterMachine => ("afterMachine", &hooks.after_machine),
        Hook::After => ("after", &hooks.after),
    };
    let Some(program) = program else { return Ok(()) };
    let mut command =
        vec!["env".to_owned(), format!("NODEINIT_CLUSTER={}", cx.cluster.name), format!("NODEINIT_HOOK={name}")];
    if let Some((machine, role)) = machine {
        let role = role.kind();
        command.extend([format!("NODEINIT_MACHINE={machine}"), format!("NODEINIT_ROLE={role}")]);
    }
    command.push(program.display().to_string());
    let what = match machine {
        Some((machine, _)) => format!("hook {name} for {machine}"),
        None => format!("hook {name}"),
    };
    cx.report.note("rollout", &what);
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    let output = cx.commands.run(&command, cx.cluster.timeouts.node).await.map_err(|e| {
        let hint = format!("fix {} (`rollout.hooks.{name}`), then run the command again", program.display());
        StepError::caused(format!("the {what} failed"), e).hint(hint)
    })?;
    output.lines().for_each(|line| cx.report.note("rollout", line));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context_of;
    use std::os::unix::fs::PermissionsExt;

    #[tokio::test]
    #[allow(clippy::disallowed_methods, reason = "a test writes a hook")]
    async fn a_hook_knows_the_machine_and_its_failure_is_reported() {
        let directory = tempfile::tempdir().unwrap();
        let hook = directory.path().join("hook");
        let seen = directory.path().join("seen");
        let write = |text: &str| {
            std::fs::write(&hook, format!("#!/bin/sh\n{text}\n")).unwrap();
            std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
        };
        let (_dir, cx) = context_of(&format!(
            "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {{version: v1.34.4}}\n\
             rollout: {{hooks: {{beforeMachine: {}}}}}\n",
            hook.display()
        ));
        write(&format!("echo $NODEINIT_HOOK $NODEINIT_CLUSTER $NODEINIT_MACHINE $NODEINIT_ROLE >{}", seen.display()));
        run(&cx, Hook::Before, None).await.unwrap();
        assert!(!seen.exists(), "it is not configured");
        run(&cx, Hook::BeforeMachine, Some(("w1", Role::Worker))).await.unwrap();
        assert_eq!(std::fs::read_to_string(&seen).unwrap(), "beforeMachine kubernetes w1 worker\n");
        write("echo not now >&2; exit 3");
        let error = run(&cx, Hook::BeforeMachine, Some(("w1", Role::Worker))).await.unwrap_err();
        let text = format!("{error}: {}", error.causes().join(": "));
        assert!(text.contains("hook beforeMachine for w1 failed") && text.contains("not now"), "{text}");
    }
}
