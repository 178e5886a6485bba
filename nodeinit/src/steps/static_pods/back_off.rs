//! Detects a static pod that the kubelet does not start, and restarts the kubelet.

use super::current;
use crate::{
    api::cri::{self, ContainerState, Cri},
    context::Context,
    engine::{error::StepError, step_id::StepId},
    host::processes,
    steps::kubelet,
};
use nodeinit_config::Component;
use std::time::{Duration, Instant, SystemTime};

/// Pause between two polls.
const PAUSE: Duration = Duration::from_millis(500);

/// A container that has been down for this long is in back-off: otherwise the kubelet restarts it at once.
const BACK_OFF_AFTER: Duration = Duration::from_millis(1500);

/// A kubelet that has not started a pod within this time holds it back.
const HELD_BACK_AFTER: Duration = Duration::from_secs(60);

/// The minimum time between two restarts; each restart doubles it, at most four times.
const PATIENCE: Duration = Duration::from_secs(8);

/// Takes a container out of the kubelet's restart back-off.
///
/// A component that started before its dependency has exited, and the kubelet waits 10 s, 20 s, 40 s before it starts it again. When
/// the dependency is healthy, a restart of the kubelet clears the back-off. The same helps if the kubelet holds a changed static pod
/// back because the API server has not answered since the kubelet started.
pub(in crate::steps) struct BackOffWatch {
    component: Component,
    looked: Instant,
    restarts: Restarts,
}

impl BackOffWatch {
    /// Starts to watch.
    pub(in crate::steps) fn new(component: Component) -> Self {
        let now = Instant::now();
        Self { component, looked: now, restarts: Restarts { began: now, latest: None, count: 0 } }
    }

    /// Call while the component is not healthy. Looks at most twice a second.
    pub(in crate::steps) async fn restart_if_due(&mut self, cx: &Context, command: &[String]) -> Result<(), StepError> {
        if self.looked.elapsed() < PAUSE {
            return Ok(());
        }
        self.looked = Instant::now();
        if processes::runs(&cx.files, command) || self.restarts.is_recent(Instant::now()) {
            return Ok(());
        }
        let down = down_for(cx, self.component).await;
        let Some(reason) = self.restarts.reason(Instant::now(), down) else { return Ok(()) };
        let name = StepId::Healthy(self.component).name();
        cx.report.note(&name, format!("{name} {reason}; restarting the kubelet, which starts it at once"));
        kubelet::restart(cx).await?;
        self.restarts.record(Instant::now());
        Ok(())
    }
}

/// The restarts of the kubelet so far.
struct Restarts {
    /// When the watch started.
    began: Instant,
    latest: Option<Instant>,
    count: u32,
}

impl Restarts {
    /// Whether the latest restart still needs time to take effect.
    fn is_recent(&self, now: Instant) -> bool {
        let patience = PATIENCE * 2u32.saturating_pow(self.count.min(4));
        self.latest.is_some_and(|at| now.saturating_duration_since(at) < patience)
    }

    /// Returns why the kubelet must be restarted if the container has been `down` for a time, or does not exist (`None`).
    fn reason(&self, now: Instant, down: Option<Duration>) -> Option<&'static str> {
        let waited = now.saturating_duration_since(self.latest.unwrap_or(self.began));
        match down {
            Some(time) if time > BACK_OFF_AFTER => Some("has exited and is backed off"),
            None if waited > HELD_BACK_AFTER => Some("was not started"),
            _ => None,
        }
    }

    fn record(&mut self, now: Instant) {
        self.latest = Some(now);
        self.count += 1;
    }
}

/// Returns how long the component's latest container has been down; `None` if it runs, or there is none.
async fn down_for(cx: &Context, component: Component) -> Option<Duration> {
    let latest = current(cx, component).await.ok()??;
    if latest.state != ContainerState::Exited {
        return None;
    }
    let ending = Cri::connect(cri::SOCKET).await.ok()?.container_status(&latest.id).await.ok()?;
    let finished = SystemTime::UNIX_EPOCH + Duration::from_nanos(u64::try_from(ending.finished).ok()?);
    finished.elapsed().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubelet_is_restarted_for_a_pod_that_it_does_not_start_with_growing_pauses() {
        let began = Instant::now();
        let at = |seconds: u64| began + Duration::from_secs(seconds);
        let down = |milliseconds| Some(Duration::from_millis(milliseconds));
        let mut restarts = Restarts { began, latest: None, count: 0 };
        assert!(!restarts.is_recent(at(0)));
        assert_eq!(restarts.reason(at(2), down(1500)), None, "the kubelet restarts it at once the first time");
        assert_eq!(restarts.reason(at(2), down(1501)), Some("has exited and is backed off"));
        assert_eq!(restarts.reason(at(60), None), None, "the kubelet may still start it");
        assert_eq!(restarts.reason(at(61), None), Some("was not started"));
        // After each restart it has 16, 32, 64, 128 and then always 128 s.
        let mut now = 61;
        for patience in [16, 32, 64, 128, 128] {
            restarts.record(at(now));
            assert!(restarts.is_recent(at(now + patience - 1)), "{patience}");
            assert!(!restarts.is_recent(at(now + patience)), "{patience}");
            assert_eq!(restarts.reason(at(now + 60), None), None, "counted from the restart");
            assert_eq!(restarts.reason(at(now + 61), None), Some("was not started"));
            now += patience;
        }
    }
}
