//! nodeinit's agent: its service, and what `up` itself does of its work.

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

/// Where the program is installed. A copy is put at the first.
const PROGRAMS: [&str; 2] = ["/usr/local/bin/nodeinit", "/usr/bin/nodeinit"];

/// Between two attempts to watch for certificate requests.
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
            // It fails until the API server is there, and while that is restarted.
            let _ = Approver::new(api, &rules, Duration::ZERO, &report).watch().await;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Step `agent`: the service runs with its present files; switched off, it is gone.
pub struct AgentService;

/// The program that the service runs: our own where it is installed, else a copy of it. What is installed may be of another version.
fn program() -> Result<(PathBuf, Option<NewFile>), StepError> {
    // One that was replaced while it runs does not undo that.
    let running = own_program::path();
    if PROGRAMS.iter().any(|installed| running == Path::new(installed)) {
        return Ok((running, None));
    }
    let path = PathBuf::from(PROGRAMS[0]);
    let mut content = Vec::new();
    let read = own_program::open().and_then(|mut file| file.read_to_end(&mut content));
    read.map_err(|e| StepError::caused("cannot read our own program", e))?;
    Ok((path.clone(), Some(NewFile { mode: 0o755, ..NewFile::public(path, content) })))
}

/// The files of the service, and the path of its program.
fn files(cx: &Context) -> Result<(Vec<NewFile>, PathBuf), StepError> {
    let (program, copy) = program()?;
    let mut files = vec![
        NewFile::public(paths::AGENT_UNIT, units::agent(&program, cx.node.role)),
        NewFile::private(paths::AGENT_CONFIG, cx.loaded.master_config()),
    ];
    files.extend(copy);
    Ok((files, program))
}

/// What there is of a service that is switched off.
fn left(cx: &Context) -> Vec<PathBuf> {
    let kubeconfig = Path::new(paths::KUBERNETES).join(User::Agent.file_name());
    let all = [paths::AGENT_UNIT.into(), paths::AGENT_CONFIG.into(), kubeconfig];
    all.into_iter().filter(|path: &PathBuf| cx.files.exists(path)).collect()
}

/// Why the service must be started again; `None`: it runs as it should.
async fn outdated(cx: &Context, files: &[NewFile], program: &Path) -> Result<Option<String>, StepError> {
    // The link alone tells whether the unit is enabled; on a new machine systemd need not be asked.
    if !cx.files.exists(systemd::enabled(UNIT)) {
        return Ok(Some(format!("start and enable {UNIT}")));
    }
    let unit = systemd::unit(&cx.commands, UNIT).await?;
    let Some(pid) = unit.pid.filter(|_| unit.active) else {
        return Ok(Some(format!("start and enable {UNIT}")));
    };
    if processes::program(&cx.files, pid).is_some_and(|running| running != program) {
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
        "run nodeinit's agent".into()
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
            .map_err(|e| e.hint("see `journalctl -u nodeinit-agent`, then run `nodeinit up` again"))
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
