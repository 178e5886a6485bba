use super::*;
use crate::{
    pki::{Key, testing::openssl},
    render::testing::Fixture,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use nodeinit_config::cluster::Endpoint;
use serde_json::json;

const W1: &str = "abcdef";

/// Returns the rules of three masters, a worker with an address and one without, and everything that reserves a name.
fn rules() -> Rules {
    let mut fixture = Fixture::new();
    let machine = |name: &str, address: Option<[u8; 4]>| Machine {
        name: name.into(),
        address: address.map(Into::into),
        ..fixture.node.machine.clone()
    };
    fixture.cluster.masters = [11, 12, 13].map(|n| machine(&format!("m{}", n - 10), Some([10, 77, 0, n]))).into();
    fixture.cluster.workers = vec![machine("w1", Some([10, 77, 0, 21])), machine("w2", None)];
    let shared = &mut fixture.cluster.control_plane;
    shared.endpoint = Some(Endpoint { host: "api.example.org".into(), port: 6443 });
    shared.virtual_address = Some([10, 77, 0, 10].into());
    shared.cert_sans = vec!["m1".into(), "203.0.113.7".into(), "*.k8s.example.org".into()];
    Rules::new(&fixture.cluster, &fixture.node)
}

/// Returns a request as the API server stores it, created by the real openssl.
fn request(user: &str, signer: &str, usages: &[&str], subject: &str, extensions: &[&str]) -> Value {
    let key = "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout /dev/null -new -subj";
    let mut arguments: Vec<&str> = key.split(' ').chain([subject]).collect();
    extensions.iter().for_each(|extension| arguments.extend(["-addext", extension]));
    with(user, signer, usages, &openssl(&arguments, b""))
}

fn with(user: &str, signer: &str, usages: &[&str], pem: &str) -> Value {
    let group = if user.starts_with("system:bootstrap:") { WORKER_TOKEN_GROUP } else { NODES };
    json!({
        "metadata": {"name": "csr-1", "resourceVersion": "7"},
        "spec": {
            "username": user, "groups": [group, "system:authenticated"], "usages": usages,
            "signerName": format!("kubernetes.io/{signer}"), "request": BASE64_STANDARD.encode(pem),
        },
    })
}

fn read(object: &Value) -> Option<Request> {
    Request::read(serde_json::from_value(object.clone()).unwrap())
}

/// Returns a worker's token.
fn token(worker: &str, key: Option<&str>) -> Value {
    let annotations = key.map_or(json!(null), |key| json!({PUBLIC_KEY: key}));
    json!({"metadata": {"labels": {WORKER_LABEL: worker_label(worker)}, "annotations": annotations}})
}

const CLIENT: &[&str] = &["digital signature", "client auth"];
const SERVER: &[&str] = &["digital signature", "server auth"];

fn client(subject: &str, usages: &[&str], extensions: &[&str], token: Option<&Value>) -> Verdict {
    let user = format!("system:bootstrap:{W1}");
    let object = request(&user, "kube-apiserver-client-kubelet", usages, subject, extensions);
    rules().client(&read(&object).unwrap(), token)
}

fn is_denied(verdict: &Verdict, why: &str) {
    assert!(matches!(verdict, Verdict::Deny(reason) if reason.contains(why)), "{verdict:?}, not {why}");
}

fn is_left(verdict: &Verdict, why: &str) {
    assert!(matches!(verdict, Verdict::Leave(reason) if reason.contains(why)), "{verdict:?}, not {why}");
}

fn is_approved(verdict: &Verdict) {
    assert!(matches!(verdict, Verdict::Approve(_)), "{verdict:?}");
}

const OWN: &str = "/O=system:nodes/CN=system:node:w1";

#[test]
fn a_workers_token_is_for_its_own_name_only() {
    let of_w1 = token("w1", None);
    let of_w1 = Some(&of_w1);
    is_approved(&client(OWN, CLIENT, &[], of_w1));
    is_approved(&client(OWN, &["key encipherment", "digital signature", "client auth"], &[], of_w1));
    // RDNs in one set, and in another order, are the same subject.
    is_approved(&client("/CN=system:node:w1/O=system:nodes", CLIENT, &[], of_w1));
    for (subject, why) in [
        ("/O=system:nodes/CN=system:node:w2", "for another worker than w2"),
        ("/O=system:nodes/CN=system:node:m1", "for another worker than m1"),
        ("/O=system:nodes/CN=system:node:", "its subject must be"),
        ("/O=system:nodes/CN=w1", "its subject must be"),
        ("/O=system:nodes/CN=kubernetes-admin", "its subject must be"),
        ("/O=system:masters/CN=system:node:w1", "its subject must be"),
        ("/O=system:nodes/O=system:masters/CN=system:node:w1", "its subject must be"),
        ("/O=system:nodes/CN=system:node:w1/CN=system:node:m1", "its subject must be"),
        ("/O=system:nodes/OU=x/CN=system:node:w1", "its subject must be"),
        ("/CN=system:node:w1", "its subject must be"),
        ("/O=system:nodes/CN=system:node:W1", "for another worker than W1"),
    ] {
        is_denied(&client(subject, CLIENT, &[], of_w1), why);
    }
    for usages in [&["client auth"][..], SERVER, &["digital signature", "client auth", "server auth"], &["any"], &[]] {
        is_denied(&client(OWN, usages, &[], of_w1), "its usages must be digital signature and client auth");
    }
    for extension in ["subjectAltName=DNS:w1", "subjectAltName=email:a@b", "basicConstraints=CA:TRUE"] {
        is_denied(
            &client(OWN, CLIENT, &[extension], of_w1),
            "must have no alternative names and no requested extensions",
        );
    }
    // A token that was created for a master is refused, too.
    let of_master = token("m1", None);
    is_denied(&client("/O=system:nodes/CN=system:node:m1", CLIENT, &[], Some(&of_master)), "m1 is a master");
    is_denied(&client(OWN, CLIENT, &[], None), "was revoked or has expired");
    is_left(&client(OWN, CLIENT, &[], Some(&json!({"metadata": {}}))), "Kubernetes' own approver");
}

#[test]
fn a_token_is_for_one_key() {
    let own = crate::pki::request::client_request(&crate::pki::catalog::node_client("w1"), &Key::generate().unwrap());
    let object = with("system:bootstrap:abcdef", "kube-apiserver-client-kubelet", CLIENT, &own.unwrap());
    let request = read(&object).unwrap();
    let key = request.public_key().unwrap();
    is_approved(&rules().client(&request, Some(&token("w1", Some(&key)))));
    is_denied(&rules().client(&request, Some(&token("w1", Some("sha256:00")))), "was used with another key");
}

#[test]
fn decided_and_foreign_requests_are_ignored() {
    let object = request("system:bootstrap:abcdef", "kube-apiserver-client-kubelet", CLIENT, OWN, &[]);
    assert!(read(&object).is_some());
    let with = |pointer: &str, value: Value| {
        let mut object = object.clone();
        object["status"] = json!({});
        *object.pointer_mut(pointer).unwrap() = value;
        read(&object).is_some()
    };
    assert!(!with("/status", json!({"conditions": [{"type": "Approved"}]})));
    assert!(!with("/status", json!({"certificate": "LS0t"})));
    assert!(!with("/spec/signerName", json!("kubernetes.io/kube-apiserver-client")));
    assert!(!with("/spec/signerName", json!("kubernetes.io/kubelet-serving")), "a token is not a node");
    // Kubernetes renews nodes' own certificates.
    assert!(!with("/spec/username", json!("system:node:w1")));
    // An unreadable request is denied.
    let mut damaged = object.clone();
    damaged["spec"]["request"] = json!("????");
    let of_w1 = token("w1", None);
    is_denied(&rules().client(&read(&damaged).unwrap(), Some(&of_w1)), "not a valid PKCS#10");
}

fn serving(node: &str, names: &str, nodes: &[(&str, &[&str])]) -> Verdict {
    let subject = format!("/O=system:nodes/CN=system:node:{node}");
    serving_as(node, &subject, SERVER, &[&format!("subjectAltName={names}")], nodes)
}

fn serving_as(user: &str, subject: &str, usages: &[&str], extensions: &[&str], nodes: &[(&str, &[&str])]) -> Verdict {
    let object = request(&format!("system:node:{user}"), "kubelet-serving", usages, subject, extensions);
    let addresses = |all: &[&str]| all.iter().map(|address| address.parse().unwrap()).collect();
    let nodes = nodes.iter().map(|(name, all)| ((*name).to_owned(), addresses(all))).collect();
    rules().serving(&read(&object).unwrap(), &nodes)
}

#[test]
fn configured_machines_serve_with_their_own_names() {
    is_approved(&serving("w1", "DNS:w1,IP:10.77.0.21", &[]));
    is_approved(&serving("w1", "IP:10.77.0.21", &[]));
    // Its own name and address are in certSANs; the API server serves there with the same ones.
    is_approved(&serving("m1", "DNS:m1,IP:10.77.0.11", &[]));
    is_approved(&serving("m3", "DNS:m3,IP:10.77.0.13", &[]));
    // The configuration decides about its address, not the node.
    is_left(&serving("w1", "DNS:w1,IP:10.77.0.99", &[("w1", &["10.77.0.99"])]), "nodeinit certs approve w1");
    is_left(&serving("w1", "DNS:db.example.org", &[]), "db.example.org");
    // The cloud's controller adds a floating IP, which is in certSANs, to the Node of a master.
    let floating = "DNS:m1,IP:10.77.0.11,IP:203.0.113.7";
    let m1: (&str, &[&str]) = ("m1", &["10.77.0.11", "203.0.113.7"]);
    is_approved(&serving("m1", floating, &[m1]));
    is_denied(&serving("m1", floating, &[("m1", &["10.77.0.11"])]), "in controlPlane.certSANs");
    is_denied(&serving("m1", floating, &[m1, ("w1", &["203.0.113.7"])]), "in controlPlane.certSANs");
    is_denied(&serving("w1", "IP:203.0.113.7", &[("w1", &["203.0.113.7"])]), "in controlPlane.certSANs");
    is_denied(&serving("m1", "IP:10.77.0.12", &[("m1", &["10.77.0.12"])]), "m2's");
    is_denied(&serving("m1", "IP:10.96.0.1", &[("m1", &["10.96.0.1"])]), "an address of the Service CIDR");
    assert!(
        rules().needs_nodes("m1")
            && !rules().needs_nodes("w1")
            && rules().needs_nodes("w2")
            && rules().needs_nodes("stock")
    );
}

#[test]
fn other_nodes_serve_with_their_own_name_and_the_addresses_that_they_report() {
    for node in ["stock", "w2"] {
        let nodes: &[(&str, &[&str])] = &[(node, &["10.77.0.31", "fd00::31"]), ("other", &["10.77.0.32"])];
        let names = format!("DNS:{node},IP:10.77.0.31,IP:fd00::31");
        is_approved(&serving(node, &names, nodes));
        // Not yet reported.
        is_left(&serving(node, &names, &[]), "10.77.0.31");
        is_left(&serving(node, "DNS:elsewhere.example.org", nodes), "elsewhere.example.org");
        // An address that another node reports, whether or not this one reports it, too.
        is_left(&serving(node, "IP:10.77.0.32", nodes), "10.77.0.32");
        is_left(&serving(node, "IP:10.77.0.32", &[(node, &["10.77.0.32"]), ("other", &["10.77.0.32"])]), "10.77.0.32");
        is_denied(&serving(node, "DNS:other", nodes), "other is other's");
        // A node may report whatever it likes.
        let taken = [
            "10.77.0.11",
            "10.77.0.21",
            "10.77.0.10",
            "203.0.113.7",
            "10.96.0.1",
            "10.244.1.1",
            "127.0.0.1",
            "169.254.169.254",
        ];
        for taken in taken {
            is_denied(&serving(node, &format!("IP:{taken}"), &[(node, &[taken])]), taken);
        }
    }
}

#[test]
fn no_machine_serves_with_names_of_the_api_or_of_another_machine() {
    for (name, why) in [
        ("DNS:api.example.org", "the control plane's endpoint"),
        ("DNS:API.example.org", "the control plane's endpoint"),
        ("DNS:api.example.org.", "the control plane's endpoint"),
        ("DNS:*.example.org", "the control plane's endpoint"),
        ("DNS:x.k8s.example.org", "in controlPlane.certSANs"),
        ("DNS:*.k8s.example.org", "in controlPlane.certSANs"),
        ("IP:203.0.113.7", "in controlPlane.certSANs"),
        ("IP:10.77.0.10", "the virtual address"),
        ("IP:::ffff:10.77.0.10", "the virtual address"),
        ("IP:10.96.0.1", "an address of the Service CIDR"),
        ("IP:10.111.1.2", "an address of the Service CIDR"),
        ("IP:10.244.1.7", "an address of the pods"),
        ("IP:169.254.169.254", "every machine's"),
        ("IP:fe80::1", "every machine's"),
        ("DNS:kubernetes", "the API's Service"),
        ("DNS:kubernetes.default", "the API's Service"),
        ("DNS:kubernetes.default.svc", "the name of a Service"),
        ("DNS:metrics-server.kube-system.svc", "the name of a Service"),
        ("DNS:kubernetes.default.svc.cluster.local", "the name of a Service"),
        ("DNS:localhost", "every machine's"),
        ("IP:127.0.0.1", "every machine's"),
        ("IP:::1", "every machine's"),
        ("DNS:m2", "m2's"),
        ("IP:10.77.0.12", "m2's"),
        ("DNS:w2", "w2's"),
    ] {
        is_denied(&serving("w1", &format!("DNS:w1,IP:10.77.0.21,{name}"), &[]), why);
    }
    // Neither does a master with those of another, or with the endpoint, which is not its own name.
    is_denied(&serving("m1", "DNS:m1,IP:10.77.0.12", &[]), "m2's");
    is_denied(&serving("m2", "DNS:m2,DNS:api.example.org", &[]), "the control plane's endpoint");
    // A node whose name is the endpoint.
    is_denied(&serving("api.example.org", "DNS:api.example.org", &[]), "the control plane's endpoint");
}

#[test]
fn only_the_node_itself_requests_its_serving_certificate() {
    let own = &["subjectAltName=DNS:w1"];
    is_approved(&serving_as("w1", OWN, SERVER, own, &[]));
    is_approved(&serving_as("w1", OWN, &["key encipherment", "digital signature", "server auth"], own, &[]));
    is_denied(&serving_as("w2", OWN, SERVER, own, &[]), "w2 requests the certificate of w1");
    is_denied(&serving_as("w1", "/CN=system:node:w1", SERVER, own, &[]), "its subject must be");
    is_denied(&serving_as("w1", "/O=system:nodes/CN=api", SERVER, own, &[]), "its subject must be");
    is_denied(&serving_as("w1", OWN, CLIENT, own, &[]), "its usages must be");
    is_denied(&serving_as("w1", OWN, &["digital signature", "server auth", "client auth"], own, &[]), "its usages");
    is_denied(&serving_as("w1", OWN, SERVER, &[], &[]), "no name and no address");
    is_denied(
        &serving_as("w1", OWN, SERVER, &["subjectAltName=DNS:w1,email:a@b"], &[]),
        "DNS names and addresses only",
    );
    is_denied(&serving_as("w1", OWN, SERVER, &["subjectAltName=DNS:w1", "basicConstraints=CA:TRUE"], &[]), "extension");
}

#[test]
fn a_single_master_that_the_configuration_does_not_name_is_known() {
    let fixture = Fixture::new();
    let rules = Rules::new(&fixture.cluster, &fixture.node);
    let ask = |user: &str, names: &str| {
        let subject = format!("/O=system:nodes/CN=system:node:{user}");
        let names = format!("subjectAltName={names}");
        let object = request(&format!("system:node:{user}"), "kubelet-serving", SERVER, &subject, &[&names]);
        rules.serving(&read(&object).unwrap(), &Nodes::new())
    };
    is_approved(&ask("m1", "DNS:m1,IP:10.77.0.11"));
    is_denied(&ask("w1", "DNS:m1"), "m1's");
    is_denied(&ask("w1", "IP:10.77.0.11"), "the control plane's endpoint");
}
