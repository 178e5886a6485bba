//! Asks for what matters. An answer is checked together with those before it, by the same code that reads a file.

use crate::engine::error::{Exit, StepError};
use nodeinit_config::{Layer, template};
use serde_json::Value;
use std::io::{self, BufRead, Write};

/// A question: the key that it fills, and its words.
struct Question {
    path: &'static str,
    text: &'static str,
    /// What an empty answer means where the key has no default of its own.
    empty: &'static str,
    /// The settings that an answer makes, as pairs of a path and YAML.
    settings: fn(&str) -> Vec<(&'static str, String)>,
}

const QUESTIONS: [Question; 8] = [
    Question { path: "name", text: "Name of the cluster", empty: "", settings: |a| vec![("name", quoted(a))] },
    Question {
        path: "kubernetes.version",
        text: "Version of Kubernetes",
        empty: "",
        settings: |a| vec![("kubernetes.version", quoted(a))],
    },
    Question {
        path: "masters",
        text: "First master, as NAME=ADDRESS",
        empty: "this machine",
        settings: |a| {
            let (name, address) = a.split_once('=').unwrap_or(("master-1", a));
            vec![("masters", format!("[{{name: {}, address: {}}}]", quoted(name.trim()), quoted(address.trim())))]
        },
    },
    Question {
        path: "network.podCIDR",
        text: "Addresses of the pods",
        empty: "",
        settings: |a| vec![("network.podCIDR", quoted(a))],
    },
    Question {
        path: "network.serviceCIDR",
        text: "Addresses of the services",
        empty: "",
        settings: |a| vec![("network.serviceCIDR", quoted(a))],
    },
    Question {
        path: "os.swap",
        text: "Swap: off (switch it off), refuse (do not begin where it is on) or keep",
        empty: "",
        settings: |a| {
            let mut settings = vec![("os.swap", quoted(a))];
            if a == "keep" {
                settings.push(("kubelet.config.failSwapOn", "false".to_owned()));
            }
            settings
        },
    },
    Question {
        path: "artifacts.source",
        text: "Binaries and images: image (all is in the machine's image), upstream (fetch the official ones), or a directory",
        empty: "",
        settings: |a| vec![("artifacts.source", quoted(a))],
    },
    Question {
        path: "addons.cni",
        text: "Pod network: flannel, none, or a directory of manifests",
        empty: "",
        settings: |a| match a.starts_with('/') {
            true => vec![("addons.cni", format!("{{directory: {}}}", quoted(a)))],
            false => vec![("addons.cni", quoted(a))],
        },
    },
];

/// An answer as a text of YAML: JSON's strings are some.
fn quoted(answer: &str) -> String {
    Value::from(answer).to_string()
}

/// More problems than this at once follow from one answer: a mirror misses a digest for each artifact.
const SHOWN: usize = 3;

/// Asks for all that `set` does not hold, adds the answers to `layers`, and returns the file's text.
///
/// # Errors
/// Where the input ends before the last answer, or the terminal is gone.
pub(super) fn ask(
    layers: &mut Vec<Layer>,
    set: &[&str],
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> Result<String, StepError> {
    let lost = |e: io::Error| StepError::caused("cannot ask", e);
    let mut text = template(layers)?;
    writeln!(output, "Press Enter to accept the default in brackets.\n").map_err(lost)?;
    for question in QUESTIONS.iter().filter(|q| !set.iter().any(|path| concerns(path, q.path))) {
        let default = default(question);
        loop {
            write!(output, "{} [{default}]: ", question.text).and_then(|()| output.flush()).map_err(lost)?;
            let mut answer = String::new();
            if input.read_line(&mut answer).map_err(lost)? == 0 {
                let error = StepError::new("the answers end here; nothing was written").exit(Exit::Usage);
                return Err(error.hint("answer every question, or use --yes"));
            }
            let answer = answer.trim();
            if answer.is_empty() {
                break;
            }
            let settings = (question.settings)(answer);
            let more = settings.into_iter().map(|(path, value)| Layer::setting("answer", path, value));
            let tried: Vec<Layer> = layers.iter().cloned().chain(more).collect();
            match template(&tried) {
                Ok(good) => {
                    (*layers, text) = (tried, good);
                    break;
                }
                Err(problems) => tell(&problems.0, output).map_err(lost)?,
            }
        }
    }
    Ok(text)
}

fn tell(problems: &[nodeinit_config::Problem], output: &mut impl Write) -> io::Result<()> {
    for problem in problems.iter().take(SHOWN) {
        writeln!(output, "  {}: {}\n    hint: {}", problem.path, problem.what, problem.remedy)?;
    }
    match problems.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(output, "  and {more} more"),
    }
}

/// Whether one of the paths holds the other.
fn concerns(set: &str, asked: &str) -> bool {
    let within = |inner: &str, outer: &str| inner == outer || inner.starts_with(&format!("{outer}."));
    within(set, asked) || within(asked, set)
}

fn default(question: &Question) -> String {
    if !question.empty.is_empty() {
        return question.empty.to_owned();
    }
    let defaults = nodeinit_config::load(&[]).map(|loaded| loaded.json()).unwrap_or_default();
    let pointer = format!("/config/{}", question.path.replace('.', "/"));
    defaults.pointer(&pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers(text: &str) -> (Result<String, StepError>, String) {
        let mut output = Vec::new();
        let file = ask(&mut Vec::new(), &[], &mut text.as_bytes(), &mut output);
        (file, String::from_utf8_lossy(&output).into_owned())
    }

    #[test]
    fn empty_answers_take_the_defaults() {
        let (file, asked) = answers(&"\n".repeat(8));
        // A cluster ID is generated for each file.
        let rest = |text: String| {
            text.lines().filter(|line| !line.contains("clusterID: ")).map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(rest(file.unwrap()), rest(template(&[]).unwrap()));
        assert!(asked.contains("Addresses of the pods [10.244.0.0/16]: "), "{asked}");
        assert!(asked.contains("First master, as NAME=ADDRESS [this machine]: "), "{asked}");
    }

    #[test]
    fn a_bad_answer_is_asked_for_again_with_the_reason() {
        let text =
            "A B\ndemo\n\nm1=10.0.0.300\nm1=10.0.0.1\n10.96.0.0/16\n10.1.0.0/16\n\nkeep\nhttps://m\n/opt/x\n/etc/cni\n";
        let (file, asked) = answers(text);
        let file = file.unwrap();
        for part in [
            "name: \"A B\" is not a DNS label",
            "masters[0].address: \"10.0.0.300\" is not an IP address",
            "network.podCIDR: 10.96.0.0/16 overlaps network.serviceCIDR 10.96.0.0/12",
            "artifacts from a mirror need a SHA-256",
        ] {
            assert!(asked.contains(part), "{part:?} is not in\n{asked}");
        }
        let cluster = nodeinit_config::load(&[Layer::file("x", file)]).unwrap().cluster;
        assert_eq!((cluster.name.as_str(), cluster.masters[0].name.as_str()), ("demo", "m1"));
        assert_eq!(cluster.network.pod_cidr.to_string(), "10.1.0.0/16");
        assert_eq!(cluster.addons.cni, nodeinit_config::cluster::Cni::Directory("/etc/cni".into()));
    }

    #[test]
    fn what_is_set_is_not_asked_and_an_end_writes_nothing() {
        let mut output = Vec::new();
        let mut layers = vec![Layer::setting("--set", "masters", "[]")];
        let ended = ask(&mut layers, &["masters"], &mut "demo\n".as_bytes(), &mut output).unwrap_err();
        assert!(ended.to_string().contains("nothing was written"));
        assert!(!String::from_utf8_lossy(&output).contains("First master"));
        assert!(concerns("addons.cni.directory", "addons.cni") && !concerns("name", "names"));
    }
}
