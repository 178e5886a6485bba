//! The status line of `systemctl status`: what a service that runs nodeinit is doing.

use crate::host::systemd;
use nodeinit_protocol::event::Event;

/// The steps that are under way, the oldest first, each with what it does or waits for.
#[derive(Debug, Default)]
pub(super) struct Status {
    steps: Vec<(String, String)>,
}

impl Status {
    /// Follows an event of this machine.
    pub(super) fn tell(&mut self, event: &Event) {
        match event {
            Event::Started { step, title } => self.steps.push((step.clone(), title.clone())),
            Event::Done { step, .. } => self.steps.retain(|(other, _)| other != step),
            Event::Failed { step, error, .. } => {
                self.steps.retain(|(other, _)| other != step);
                return systemd::status(&format!("{step} failed: {error}"));
            }
            Event::Summary { .. } => self.steps.clear(),
            _ => return,
        }
        systemd::status(&self.line());
    }

    /// Follows what a step reports of its work.
    pub(super) fn detail(&mut self, step: &str, text: &str) {
        if let Some((_, shown)) = self.steps.iter_mut().find(|(other, shown)| other == step && shown != text) {
            text.clone_into(shown);
            systemd::status(&self.line());
        }
    }

    fn line(&self) -> String {
        let steps: Vec<String> = self.steps.iter().map(|(step, text)| format!("{step}: {text}")).collect();
        steps.join("; ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_all_steps_under_way() {
        let mut status = Status::default();
        let started = |step: &str, title: &str| Event::Started { step: step.to_owned(), title: title.to_owned() };
        status.tell(&started("etcd", "wait for etcd"));
        status.tell(&started("host-m2", "bring up m2"));
        status.detail("host-m2", "pki, kubelet");
        assert_eq!(status.line(), "etcd: wait for etcd; host-m2: pki, kubelet");
        status.detail("unknown", "nothing");
        status.tell(&Event::Done { step: "etcd".to_owned(), changed: true, seconds: 1.0 });
        assert_eq!(status.line(), "host-m2: pki, kubelet");
        status.tell(&Event::Failed {
            step: "host-m2".to_owned(),
            error: "no space left".to_owned(),
            causes: Vec::new(),
            hint: None,
            problems: Vec::new(),
        });
        assert_eq!(status.line(), "");
    }
}
