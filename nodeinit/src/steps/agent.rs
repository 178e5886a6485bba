//! The service `nodeinit agent`, and the part of its work that `up` does itself.

use super::{cluster, kubelet::reason_to_restart};
use crate::{
    agent::{
        approve::{Rules, Verdict},
        approver::Approver,
    },
    context::{Context, blocking},
    engine::{
        error::StepError,
        step::{State, Step},
        step_id::StepId,
    },
    host::{files::NewFile, own_program, processes, systemd},
    render::{kubeconfig::User, paths, units},
};
use async_trait::async_trait;
use nodeinit_config::cluster::Role;
use std::{
    convert::Infallible,
    io::Read,
    path::{Path, PathBuf},
    time::Duration,
};

/// The unit.
pub const UNIT: &str = "nodeinit-agent.service";

/// Where the program may be installed. A copy is placed at the first path.
const PROGRAMS: [&str; 2] = ["/usr/local/bin/nodeinit", "/usr/bin/nodeinit"];

/// Pause between two attempts to watch certificate requests.
const PAUSE: Duration = Duration::from_millis(250);

/// Approves the requests of the machines that this run brings up, so that none of them waits for the agent.
pub async fn approve(cx: &Context) -> Infallible {
    if cx.node.role != Role::FirstMaster || !cx.cluster.agent.enabled {
        return std::future::pending().await;
    }
    let rules = Rules::new(&cx.cluster, &cx.node);
    let report = |request: &str, verdict: &Verdict| match verdict {
        Verdict::Approve(_) => {}
        Verdict::Deny(why) => cx.report.note("approve", format!("denied certificate request {request}: {why}")),
        Verdict::Leave(why) => cx.report.note("approve", format!("left certificate request {request} pending: {why}")),
    };
    loop {
        if let Ok(api) = cluster::client(cx) {
            // This fails until the API server runs, and while it restarts.
            let _ = Approver::new(api, &rules, Duration::ZERO, &report).watch().await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Step `agent`: the service runs with its current files; if the agent is disabled, the service is removed.
pub struct AgentService;

/// Returns the program that the service runs: the running program if it is installed, else a copy of it. An installed program may
/// have another version.
fn program() -> Result<(PathBuf, Option<NewFile>), StepError> {
    // The kernel adds this suffix if the program was replaced while it runs.
    let running = own_program::path();
    if PROGRAMS.iter().any(|installed| running == Path::new(installed)) {
        return Ok((running, None));
    }
    let path = PathBuf::from(PROGRAMS[0]);
    let mut content = Vec::new();
    let read = own_program::open().and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(|e| StepError::caused("cannot read the nodeinit program", e))?;
    Ok((path.clone(), Some(NewFile { mode: 0o755, ..NewFile::public(path, content) })))
}

/// Returns the files of the service and the path of its program.
fn files(cx: &Context) -> Result<(Vec<NewFile>, PathBuf), StepError> {
    let (program, copy) = program()?;
    let mut files = vec![
        NewFile::public(paths::AGENT_UNIT, units::agent(&program, cx.node.role)),
        NewFile::private(paths::AGENT_CONFIG, cx.loaded.master_config()),
    ];
    files.extend(copy);
    Ok((files, program))
}

/// Returns the files that are left of a disabled service.
fn left(cx: &Context) -> Vec<PathBuf> {
    let kubeconfig = Path::new(paths::KUBERNETES).join(User::Agent.file_name());
    let all = [paths::AGENT_UNIT.into(), paths::AGENT_CONFIG.into(), kubeconfig];
    all.into_iter().filter(|path: &PathBuf| cx.files.exists(path)).collect()
}

/// Returns why the service must be restarted; `None` if it is up to date.
async fn outdated(cx: &Context, files: &[NewFile], program: &Path) -> Result<Option<String>, StepError> {
    // The symbolic link shows whether the unit is enabled; on a new machine this saves a call to systemd.
    if !cx.files.exists(systemd::enabled(UNIT)) {
        return Ok(Some(format!("start and enable {UNIT}")));
    }
    let unit = systemd::unit(&cx.commands, UNIT).await?;
    let Some(pid) = unit.pid.filter(|_| unit.active) else {
        return Ok(Some(format!("start and enable {UNIT}")));
    };
    if processes::is_replaced(&cx.files, pid, program) {
        return Ok(Some(format!("restart {UNIT}: {} was replaced", program.display())));
    }
    Ok(reason_to_restart(cx, UNIT, unit.since, files.iter().map(|file| &file.path)))
}

#[async_trait(?Send)]
impl Step for AgentService {
    fn id(&self) -> StepId {
        StepId::Agent
    }

    fn title(&self) -> String {
        "run the nodeinit agent".into()
    }

    async fn check(&self, cx: &Context) -> Result<State, StepError> {
        if !cx.cluster.agent.enabled {
            let left = left(cx).into_iter().map(|path| format!("remove {}", path.display()));
            return Ok(State::of(left.collect()));
        }
        let lent = cx.clone();
        let (files, program, mut changes) = blocking(move || {
            let (files, program) = files(&lent)?;
            let changes = lent.differing(&files)?;
            Ok((files, program, changes))
        })
        .await?;
        changes.extend(outdated(cx, &files, &program).await?);
        Ok(State::of(changes))
    }

    async fn apply(&self, cx: &Context) -> Result<(), StepError> {
        if !cx.cluster.agent.enabled {
            systemd::stop(&cx.commands, UNIT).await?;
            systemd::disable(&cx.commands, UNIT).await?;
            return Ok(left(cx).iter().try_for_each(|path| cx.files.remove_file(path))?);
        }
        let lent = cx.clone();
        let (files, _) = blocking(move || files(&lent)).await?;
        cx.place(files).await?;
        // systemd waits until the agent reports that it has read its configuration.
        cx.start_unit(UNIT)
            .await
            .map_err(|e| e.hint("see `journalctl -u nodeinit-agent`, then run the same command again"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::testing::context;

    #[tokio::test]
    async fn the_service_runs_this_program_and_no_other_version() {
        let (_dir, cx) = context();
        let installed = Path::new(PROGRAMS[0]);
        for directory in cx.files.missing_parents(installed).iter() {
            cx.files.make_directory(directory, 0o755).unwrap();
        }
        cx.files.write(&[NewFile { mode: 0o755, ..NewFile::public(installed, b"older") }]).unwrap();
        let State::Needed(changes) = AgentService.check(&cx).await.unwrap() else { panic!() };
        assert!(changes.contains(&"rewrite /usr/local/bin/nodeinit".to_owned()), "{changes:?}");
        let (files, program) = files(&cx).unwrap();
        assert_eq!(program, installed);
        assert!(String::from_utf8_lossy(&files[0].content).contains("ExecStart=/usr/local/bin/nodeinit agent"));
        assert!(*files[2].content == std::fs::read("/proc/self/exe").unwrap());
    }
}
