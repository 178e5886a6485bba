//! Asks for what matters. Each answer is checked together with those before it, by the same code that reads a file.

use super::{
    draft::{Draft, Settings, machine, machines, quoted},
    host_keys,
    terminal::Terminal,
};
use crate::{engine::error::StepError, steps::fanout};
use nodeinit_config::{Local, Problem, cluster::Cluster};
use nodeinit_ssh::Target;
use serde_json::Value;

/// What this machine knows, for the defaults of questions.
pub(super) struct Here {
    pub(super) local: Local,
    /// A private key that can log in to other machines.
    pub(super) key: Option<&'static str>,
}

/// A question about a key of the configuration.
struct Question {
    path: &'static str,
    /// What is asked, and what for.
    text: &'static str,
    applies: fn(&Cluster) -> bool,
    enter: Enter,
    /// The settings that an answer makes, or what is wrong with its form.
    settings: fn(&Draft, &'static str, &str) -> Result<Settings, String>,
}

/// What an empty answer means.
enum Enter {
    /// The key keeps its value.
    Keeps,
    /// The key stays unset, which means this.
    Unset(&'static str),
    /// The same as this answer, if there is one; else the key stays unset, which means the words.
    Answers(fn(&Draft, &Here) -> Option<String>, &'static str),
}

const QUESTIONS: [Question; 14] = [
    Question {
        path: "name",
        text: "Name of the cluster, for kubeconfigs",
        applies: always,
        enter: Enter::Keeps,
        settings: text,
    },
    Question {
        path: "kubernetes.version",
        text: "Version of Kubernetes",
        applies: always,
        enter: Enter::Keeps,
        settings: text,
    },
    Question {
        path: "artifacts.source",
        text: "Programs and images: image (part of the machine's image), upstream (download the official ones), or a directory",
        applies: always,
        enter: Enter::Keeps,
        settings: text,
    },
    Question {
        path: "network.podCIDR",
        text: "Address range of the pods, which no machine uses",
        applies: always,
        enter: Enter::Keeps,
        settings: text,
    },
    Question {
        path: "network.serviceCIDR",
        text: "Address range of the services, which no machine uses",
        applies: always,
        enter: Enter::Keeps,
        settings: text,
    },
    Question {
        path: "addons.cni",
        text: "Pod network: flannel, none (you install another one), or a directory of manifests",
        applies: always,
        enter: Enter::Keeps,
        settings: cni,
    },
    Question {
        path: "os.swap",
        text: "Swap: off (switch it off), refuse (stop if it is on) or keep",
        applies: always,
        enter: Enter::Keeps,
        settings: swap,
    },
    Question {
        path: "masters",
        text: "First master, which starts the cluster, as NAME=ADDRESS",
        applies: always,
        enter: Enter::Answers(this_machine, "this machine"),
        settings: |_, path, answer| Ok(vec![(path, Value::from(vec![machine(answer)?]).to_string())]),
    },
    Question {
        path: "masters",
        text: "Further masters, as NAME=ADDRESS with spaces between them; a cluster with three masters in total survives the loss of one",
        applies: always,
        enter: Enter::Unset("none"),
        settings: append,
    },
    Question {
        path: "workers",
        text: "Workers, as NAME=ADDRESS with spaces between them; one without an address joins on its own",
        applies: always,
        enter: Enter::Unset("none"),
        settings: append,
    },
    Question {
        path: "controlPlane.endpoint",
        text: "Load balancer or DNS name in front of the masters, as HOST:PORT",
        applies: |cluster| cluster.masters.len() + cluster.workers.len() > 1,
        enter: Enter::Unset("none"),
        settings: text,
    },
    Question {
        path: "controlPlane.virtualAddress",
        text: "Virtual IP of the API in place of a load balancer: a free address of the masters' network",
        applies: |cluster| cluster.masters.len() > 1 && cluster.control_plane.endpoint.is_none(),
        enter: Enter::Unset("none"),
        settings: text,
    },
    Question {
        path: "ssh.user",
        text: "User with whom the first master logs in to the other machines over SSH: root, or one with sudo",
        applies: reaches_others,
        enter: Enter::Keeps,
        settings: text,
    },
    Question {
        path: "ssh.keyFile",
        text: "Private key on the first master that logs in to the other machines",
        applies: reaches_others,
        enter: Enter::Answers(|_, here| here.key.map(str::to_owned), "the key in the secrets bundle"),
        settings: text,
    },
];

fn always(_: &Cluster) -> bool {
    true
}

fn reaches_others(cluster: &Cluster) -> bool {
    !fanout::targets(cluster).is_empty()
}

fn text(_: &Draft, path: &'static str, answer: &str) -> Result<Settings, String> {
    Ok(vec![(path, quoted(answer))])
}

fn cni(_: &Draft, path: &'static str, answer: &str) -> Result<Settings, String> {
    let value = if answer.starts_with('/') { format!("{{directory: {}}}", quoted(answer)) } else { quoted(answer) };
    Ok(vec![(path, value)])
}

fn swap(_: &Draft, path: &'static str, answer: &str) -> Result<Settings, String> {
    let mut settings = vec![(path, quoted(answer))];
    if answer == "keep" {
        settings.push(("kubelet.config.failSwapOn", "false".to_owned()));
    }
    Ok(settings)
}

fn append(draft: &Draft, list: &'static str, answer: &str) -> Result<Settings, String> {
    let mut all = draft.machines(list);
    all.extend(machines(answer)?);
    Ok(vec![(list, Value::from(all).to_string())])
}

/// Its name, and the address that it would announce in this cluster.
fn this_machine(draft: &Draft, here: &Here) -> Option<String> {
    let node = draft.cluster().node(&here.local, None).ok()?;
    Some(format!("{}={}", node.name, node.address))
}

/// More problems than this at once follow from one answer: a mirror misses a digest for each artifact.
const SHOWN: usize = 3;

/// Asks for all that `set` does not contain, and adds the answers to the draft.
///
/// # Errors
/// Where the answers end, or the terminal is gone.
pub(super) async fn ask(
    draft: &mut Draft,
    set: &[&str],
    here: &Here,
    terminal: &mut Terminal<'_>,
) -> Result<(), StepError> {
    terminal.say("Press Enter to accept the default in brackets, or Ctrl-C to end without writing anything.\n")?;
    for question in QUESTIONS.iter().filter(|q| !set.iter().any(|path| concerns(path, q.path))) {
        if (question.applies)(draft.cluster()) {
            ask_one(question, draft, here, terminal)?;
        }
    }
    let unknown = without_host_key(draft.cluster());
    if unknown.is_empty() || draft.cluster().ssh.jump_host.is_some() {
        return Ok(());
    }
    let names: Vec<&str> = unknown.iter().map(|target| target.name.as_str()).collect();
    let question = format!(
        "Read the SSH host keys of {} now, so that you can compare them with the machines' consoles?",
        names.join(", ")
    );
    if terminal.confirm(&question, true)? {
        host_keys::keep(draft, &host_keys::read(&unknown, terminal).await?)?;
    }
    Ok(())
}

/// The machines that are reached over SSH, and whose host keys the configuration does not have.
pub(super) fn without_host_key(cluster: &Cluster) -> Vec<Target> {
    fanout::targets(cluster).into_iter().filter(|target| target.host_keys.is_empty()).collect()
}

fn ask_one(question: &Question, draft: &mut Draft, here: &Here, terminal: &mut Terminal<'_>) -> Result<(), StepError> {
    let (default, otherwise) = match question.enter {
        Enter::Keeps => (None, draft.text(question.path)),
        Enter::Unset(words) => (None, words.to_owned()),
        Enter::Answers(answer, words) => (answer(draft, here), words.to_owned()),
    };
    loop {
        let answer = terminal.ask(question.text, default.as_ref().unwrap_or(&otherwise))?;
        let Some(answer) = Some(answer).filter(|answer| !answer.is_empty()).or(default.clone()) else { return Ok(()) };
        match (question.settings)(draft, question.path, &answer).map(|settings| draft.set(settings)) {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(problems)) => show(&problems.errors, terminal)?,
            Err(reason) => terminal.say(&format!("  {reason}"))?,
        }
    }
}

fn show(problems: &[Problem], terminal: &mut Terminal<'_>) -> Result<(), StepError> {
    for problem in problems.iter().take(SHOWN) {
        terminal.say(&format!("  {}: {}\n    hint: {}", problem.path, problem.what, problem.remedy))?;
    }
    match problems.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => terminal.say(&format!("  and {more} more")),
    }
}

/// Whether one of the paths holds the other.
fn concerns(set: &str, asked: &str) -> bool {
    let within = |inner: &str, outer: &str| inner == outer || inner.starts_with(&format!("{outer}."));
    within(set, asked) || within(asked, set)
}

#[cfg(test)]
mod tests {
    use super::{super::terminal::testing::answered, *};
    use nodeinit_config::{Layer, short_template};

    /// The configuration that the answers give, and what was asked.
    async fn asked(answers: &str, set: &[&str]) -> (Result<Draft, StepError>, String) {
        let local = Local { host_name: "m1.example.org".into(), addresses: vec![[10, 0, 0, 11].into()] };
        let here = Here { local, key: Some("/root/.ssh/id_ed25519") };
        let mut draft = Draft::new(vec![Layer::setting("default", "masters", "[{name: m1}]")]).unwrap();
        let (result, printed) = answered(answers, async |terminal| ask(&mut draft, set, &here, terminal).await).await;
        (result.map(|()| draft), printed)
    }

    #[tokio::test]
    async fn empty_answers_take_the_defaults() {
        let (draft, printed) = asked(&"\n".repeat(10), &[]).await;
        let cluster = draft.unwrap().cluster().clone();
        let defaults = nodeinit_config::load(&[]).unwrap().cluster;
        assert_eq!(
            (&cluster.name, &cluster.network, &cluster.addons),
            (&defaults.name, &defaults.network, &defaults.addons)
        );
        assert_eq!((cluster.masters[0].name.as_str(), cluster.masters[0].address), ("m1", Some([10, 0, 0, 11].into())));
        assert!(printed.contains("Address range of the pods, which no machine uses [10.244.0.0/16]: "), "{printed}");
        assert!(printed.contains("as NAME=ADDRESS [m1=10.0.0.11]: "), "{printed}");
        // A single machine has no other to log in to, and needs nothing in front of it.
        assert!(!printed.contains("SSH") && !printed.contains("Load balancer"), "{printed}");
    }

    #[tokio::test]
    async fn several_machines_are_asked_for_with_the_way_to_them() {
        let answers = "\n\n\n\n\n\n\n\nm2=10.0.0.12 m3=10.0.0.13\nw1=10.0.0.21 w2\n\n10.0.0.10\ndebian\n\nno\n";
        let (draft, printed) = asked(answers, &[]).await;
        let draft = draft.unwrap_or_else(|e| panic!("{e}\n{printed}"));
        let file = short_template(draft.layers()).unwrap();
        let cluster =
            nodeinit_config::load(&[Layer::file("x", file.clone())]).unwrap_or_else(|p| panic!("{p}")).cluster;
        let names = |machines: &[nodeinit_config::cluster::Machine]| {
            machines.iter().map(|machine| machine.name.clone()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!((names(&cluster.masters), names(&cluster.workers)), ("m1 m2 m3".into(), "w1 w2".into()));
        assert_eq!(cluster.control_plane.virtual_address, Some([10, 0, 0, 10].into()));
        assert_eq!(cluster.ssh.user, "debian");
        assert_eq!(cluster.ssh.key_file, Some("/root/.ssh/id_ed25519".into()));
        assert!(file.contains("\n  - name: m1\n    address: 10.0.0.11\n  - name: m2\n"), "{file}");
        assert!(printed.contains("Read the SSH host keys of m2, m3, w1 now"), "{printed}");
    }

    #[tokio::test]
    async fn a_bad_answer_is_asked_for_again_with_the_reason() {
        let answers = "A B\ndemo\n\nhttps://m\n/opt/x\n10.96.0.0/16\n10.1.0.0/16\n\n/etc/cni\nkeep\nm1=10.0.0.300\n\
                       10.0.0.1\nm1=10.0.0.1\nm2\n\n\n";
        let (draft, printed) = asked(answers, &[]).await;
        let cluster = draft.unwrap_or_else(|e| panic!("{e}\n{printed}")).cluster().clone();
        for part in [
            "name: \"A B\" is not a DNS label",
            "artifacts from a mirror need a SHA-256",
            "network.podCIDR: 10.96.0.0/16 overlaps network.serviceCIDR 10.96.0.0/12",
            "masters[0].address: \"10.0.0.300\" is not an IP address",
            "\"10.0.0.1\" names no machine: write NAME=ADDRESS",
            "masters[1].address: missing: the other masters must reach this one",
        ] {
            assert!(printed.contains(part), "{part:?} is not in\n{printed}");
        }
        assert_eq!((cluster.name.as_str(), cluster.masters.len()), ("demo", 1));
        assert_eq!(cluster.network.pod_cidr.to_string(), "10.1.0.0/16");
        assert_eq!(cluster.addons.cni, nodeinit_config::cluster::Cni::Directory("/etc/cni".into()));
    }

    #[tokio::test]
    async fn what_is_set_is_not_asked_and_an_end_is_an_error() {
        let (ended, printed) = asked("demo\n", &["masters"]).await;
        assert!(ended.err().unwrap().to_string().contains("nothing was written"));
        assert!(printed.contains("Version of Kubernetes") && !printed.contains("First master"), "{printed}");
        assert!(concerns("addons.cni.directory", "addons.cni") && !concerns("name", "names"));
    }
}
