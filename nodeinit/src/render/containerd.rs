//! containerd's configuration, the mirrors of registries, and its proxies.

use super::{
    paths::REGISTRIES,
    toml::{Toml, TomlError},
};
use nodeinit_config::{
    Cluster, DOCKER_HUB, Logins,
    cluster::{Cni, KubernetesImage, Proxy, RegistryMirrors},
};
use serde_json::Value;

/// Where the plugins of the pod network are.
const PLUGINS: &str = "/opt/cni/bin";

/// The default runtime of pods.
const RUNC: &str = "runc";
/// The type of this runtime, and of each runtime that NVIDIA's toolkit adds.
pub const RUNC_TYPE: &str = "io.containerd.runc.v2";

/// The plugin that serves the kubelet, in a file of version 2. In version 3 there are two.
const CRI: &str = "io.containerd.grpc.v1.cri";
const CRI_IMAGES: &str = "io.containerd.cri.v1.images";
const CRI_RUNTIME: &str = "io.containerd.cri.v1.runtime";

/// The new file for containerd 2, which merges imported files key by key, and for containerd 1, which does not.
const NEW_3: &str = "# Written by nodeinit. `nodeinit up` sets only what it needs: see docs/how-to/containerd.md. Other settings stay.\n\
                     version = 3\nimports = [\"/etc/containerd/conf.d/*.toml\"]\n";
const NEW_2: &str = "# Written by nodeinit. `nodeinit up` sets only what it needs: see docs/how-to/containerd.md. Other settings stay.\nversion = 2\n";

/// Why a configuration of containerd cannot be edited.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum EditError {
    /// Not TOML, or in a form that cannot be extended.
    #[error(transparent)]
    Toml(#[from] TomlError),
    /// Its version is older than 2.
    #[error("it has settings of plugins, but neither `version = 2` nor `version = 3`")]
    Version,
    /// Mirrors in the form that containerd refuses together with `config_path`.
    #[error("it has mirrors below {0}, which containerd refuses together with config_path")]
    Mirrors(String),
    /// Another directory of mirrors.
    #[error(
        "its config_path is {0}; containerd 2 reads the files of registries from one directory only, and images.mirrors and images.registryAuthFile need {REGISTRIES}"
    )]
    Directory(String),
}

impl EditError {
    /// Returns the fix.
    #[must_use]
    pub fn remedy(&self) -> &'static str {
        match self {
            Self::Toml(_) => "fix it, or set containerRuntime.manage: false",
            Self::Version => {
                "convert it to the current format (containerd 2: `containerd config migrate` prints it), or set containerRuntime.manage: false"
            }
            Self::Mirrors(_) => {
                "remove them, list these mirrors under images.mirrors and their logins in the file of images.registryAuthFile; or set containerRuntime.manage: false"
            }
            Self::Directory(_) => {
                "move the files that you need from that directory to /etc/containerd/certs.d, and remove config_path; or remove images.mirrors and images.registryAuthFile"
            }
        }
    }
}

/// Whether the kubelets of this cluster use the cgroup driver systemd, which is the default that kubeadm writes.
#[must_use]
pub fn uses_systemd_cgroups(cluster: &Cluster) -> bool {
    cluster.kubelet.get("cgroupDriver").and_then(Value::as_str).unwrap_or("systemd") == "systemd"
}

/// Renders [`super::paths::CONTAINERD_CONFIG`]: the existing text with the settings that this cluster needs. `major` is containerd's
/// version.
///
/// An imported file cannot do this: containerd 1.6 and 1.7 replace a plugin's complete section with that of an imported file
/// (`services/server/config/config.go`, `mergeConfig`).
///
/// # Errors
/// If the existing file is incompatible.
pub fn config(present: Option<&str>, major: u16, cluster: &Cluster) -> Result<String, EditError> {
    let mut toml = Toml::parse(present.unwrap_or(if major >= 2 { NEW_3 } else { NEW_2 }))?;
    enable_cri(&mut toml)?;
    let version = match toml.get(&["version"]).and_then(|text| text.parse::<u16>().ok()) {
        Some(version) if version >= 2 => version,
        // A file without a version has version 1, in which plugins have other names.
        _ if !toml.names(&["plugins"]).is_empty() || !toml.strings(&["disabled_plugins"]).is_empty() => {
            return Err(EditError::Version);
        }
        _ => {
            let version = if major >= 2 { 3 } else { 2 };
            toml.set(&["version"], &version.to_string())?;
            version
        }
    };
    let (images, runtime) = if version == 2 { (CRI, CRI) } else { (CRI_IMAGES, CRI_RUNTIME) };

    let pause = quoted(&cluster.image(KubernetesImage::Pause));
    if version == 2 {
        toml.set(&["plugins", images, "sandbox_image"], &pause)?;
    } else {
        toml.set(&["plugins", images, "pinned_images", "sandbox"], &pause)?;
    }
    let runtimes = ["plugins", runtime, "containerd", "runtimes"];
    let at = |name, key: &[&'static str]| [&runtimes[..], &[name], key].concat();
    if toml.get(&at(RUNC, &["runtime_type"])).is_none() {
        toml.set(&at(RUNC, &["runtime_type"]), &quoted(RUNC_TYPE))?;
    }
    let by_systemd = uses_systemd_cgroups(cluster).to_string();
    for name in toml.names(&runtimes) {
        let options = [&runtimes[..], &[&name, "options", "SystemdCgroup"]].concat();
        let is_runc = toml.string(&[&runtimes[..], &[&name, "runtime_type"]].concat()) == Some(RUNC_TYPE);
        if is_runc && toml.get(&options).unwrap_or("false") != by_systemd {
            toml.set(&options, &by_systemd)?;
        }
    }
    if cluster.addons.cni == Cni::Flannel {
        let cni = ["plugins", runtime, "cni"];
        let at = |key| [&cni[..], &[key]].concat();
        if toml.string(&at("bin_dir")).is_some_and(|found| found != PLUGINS) {
            toml.set(&at("bin_dir"), &quoted(PLUGINS))?;
        }
        let directories = toml.strings(&at("bin_dirs"));
        if !directories.is_empty() && !directories.contains(&PLUGINS) {
            let all: Vec<String> = [PLUGINS].iter().chain(&directories).map(|each| quoted(each)).collect();
            toml.set(&at("bin_dirs"), &format!("[{}]", all.join(", ")))?;
        }
    }
    registries(&mut toml, &["plugins", images, "registry"], major, cluster)?;
    Ok(toml.text().to_owned())
}

/// Docker's package of containerd comes with the plugin for Kubernetes disabled.
fn enable_cri(toml: &mut Toml) -> Result<(), TomlError> {
    let disabled = toml.strings(&["disabled_plugins"]);
    let is_cri = |name: &&str| ["cri", CRI, CRI_IMAGES, CRI_RUNTIME].contains(name);
    if !disabled.iter().any(is_cri) {
        return Ok(());
    }
    let others: Vec<String> = disabled.into_iter().filter(|name| !is_cri(name)).map(quoted).collect();
    toml.set(&["disabled_plugins"], &format!("[{}]", others.join(", "))).map(drop)
}

fn registries(toml: &mut Toml, table: &[&str], major: u16, cluster: &Cluster) -> Result<(), EditError> {
    let at = |key: &'static str| [table, &[key]].concat();
    let found = toml.string(&at("config_path")).unwrap_or_default().to_owned();
    // A working value is not changed without need.
    if found == REGISTRIES || (!found.is_empty() && !cluster.sets_registries()) {
        return Ok(());
    }
    // containerd 2 takes a list for the name of one directory. Source: `core/transfer/registry/registry.go`.
    if major >= 2 && !found.is_empty() {
        return Err(EditError::Directory(found));
    }
    if found.split(':').any(|directory| directory == REGISTRIES) {
        return Ok(());
    }
    let has_mirrors = !toml.names(&at("mirrors")).is_empty() || !toml.names(&at("configs")).is_empty();
    match (has_mirrors, cluster.sets_registries()) {
        (true, false) => return Ok(()),
        (true, true) => return Err(EditError::Mirrors(table.join("."))),
        (false, _) => {}
    }
    // The first directory that has a file for a registry wins.
    let path = if found.is_empty() { REGISTRIES.to_owned() } else { format!("{REGISTRIES}:{found}") };
    Ok(toml.set(&at("config_path"), &quoted(&path)).map(drop)?)
}

/// Returns the files that a configuration with a `config_path` imports: paths that may have a `*` in their last part. Empty without
/// `config_path`.
#[must_use]
pub fn imports_beside_config_path(config: &str) -> Vec<String> {
    let Ok(toml) = Toml::parse(config) else { return Vec::new() };
    let has_path = |plugin| toml.string(&["plugins", plugin, "registry", "config_path"]).is_some_and(|p| !p.is_empty());
    let imports = if [CRI, CRI_IMAGES].into_iter().any(has_path) { toml.strings(&["imports"]) } else { Vec::new() };
    imports.into_iter().map(str::to_owned).collect()
}

/// Whether containerd refuses the imported text together with a `config_path`, because it has mirrors.
///
/// # Errors
/// If it is not TOML.
pub fn has_mirrors(imported: &str) -> Result<bool, EditError> {
    let toml = Toml::parse(imported)?;
    let below = |plugin, key| !toml.names(&["plugins", plugin, "registry", key]).is_empty();
    Ok([CRI, CRI_IMAGES].iter().any(|plugin| below(plugin, "mirrors") || below(plugin, "configs")))
}

const HOSTS_HEAD: &str =
    "# Written by nodeinit from images.mirrors and images.registryAuthFile; changes are overwritten.\n";

/// A registry from which containerd pulls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registry {
    /// Its name in image names, and its directory below [`REGISTRIES`].
    pub name: String,
    /// Its URL.
    pub server: String,
    /// The base URLs of its mirrors, which are tried first, in this order.
    pub mirrors: Vec<String>,
}

impl Registry {
    /// Returns the registries of `images.mirrors` and those with a login.
    #[must_use]
    pub fn all(mirrors: &[RegistryMirrors], logins: &Logins) -> Vec<Self> {
        let mut all: Vec<Self> = mirrors.iter().map(Self::mirrored).collect();
        for server in logins.registries() {
            let host = server.split_once("://").map_or(&*server, |(_, host)| host);
            let name = if host == DOCKER_HUB { "docker.io" } else { host }.to_owned();
            match all.iter_mut().find(|registry| registry.name == name) {
                Some(known) => known.server = server,
                None => all.push(Self { name, server, mirrors: Vec::new() }),
            }
        }
        all
    }

    fn mirrored(mirrors: &RegistryMirrors) -> Self {
        let name = mirrors.registry.clone();
        let host = if name == "docker.io" { DOCKER_HUB } else { &*name };
        Self { server: format!("https://{host}"), name, mirrors: mirrors.urls.clone() }
    }

    /// Renders its `hosts.toml`; `ca` is a file. The text is secret if it has a login.
    ///
    /// Source: `docs/hosts.md` of containerd. A mirror's path is the folder of its images, as in `artifacts.mirrors`. A header's name is
    /// in Go's canonical form: containerd replaces the header with the token of a token server.
    #[must_use]
    pub fn hosts(&self, ca: Option<&str>, logins: &Logins) -> String {
        let ca = ca.map(|ca| format!("ca = {}\n", quoted(ca))).unwrap_or_default();
        let header = |table: String, url: &str| {
            let login = logins.of(url).map(|login| quoted(&format!("Basic {login}")));
            login.map(|login| format!("[{table}header]\nAuthorization = {login}\n")).unwrap_or_default()
        };
        let server = quoted(&self.server);
        let own_ca = if self.mirrors.is_empty() { &*ca } else { "" };
        let mut text = format!("{HOSTS_HEAD}server = {server}\n{own_ca}{}", header(String::new(), &self.server));
        for url in &self.mirrors {
            let server = host(url);
            let folder = url.trim_end_matches('/').strip_prefix(&server).unwrap_or_default();
            let base = quoted(&format!("{server}/v2{folder}"));
            text += &format!("\n[host.{base}]\ncapabilities = [\"pull\", \"resolve\"]\noverride_path = true\n{ca}");
            text += &header(format!("host.{base}."), url);
        }
        text
    }

    /// Whether [`hosts`](Self::hosts) contains a login.
    #[must_use]
    pub fn is_secret(&self, logins: &Logins) -> bool {
        self.mirrors.iter().chain([&self.server]).any(|url| logins.of(url).is_some())
    }
}

/// Returns the scheme and the host of a URL.
fn host(url: &str) -> String {
    let (scheme, rest) = url.split_once("://").unwrap_or(("https", url));
    format!("{scheme}://{}", rest.split('/').next().unwrap_or_default())
}

/// Renders [`super::paths::CONTAINERD_PROXY`].
#[must_use]
pub fn proxy(proxy: &Proxy) -> String {
    let pairs = [("HTTP_PROXY", &proxy.http), ("HTTPS_PROXY", &proxy.https)];
    let no = Some(proxy.no.join(",")).filter(|list| !list.is_empty());
    let set = pairs.into_iter().chain([("NO_PROXY", &no)]).filter_map(|(name, value)| Some((name, value.as_ref()?)));
    // systemd expands percent signs.
    let line = |(name, value): (&str, &String)| format!("Environment=\"{name}={}\"\n", value.replace('%', "%%"));
    format!("# Written by nodeinit from containerRuntime.proxy.\n[Service]\n{}", set.map(line).collect::<String>())
}

/// Formats a TOML string. The written values contain no other characters to escape.
fn quoted(text: &str) -> String {
    format!("{text:?}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use nodeinit_config::{Layer, load};

    fn cluster(config: &str) -> Cluster {
        let head = "apiVersion: nodeinit.dev/v1alpha1\nkind: Cluster\nkubernetes: {version: v1.37.1}\n";
        load(&[Layer::file("cluster.yaml", format!("{head}{config}"))]).unwrap_or_else(|p| panic!("{p}")).cluster
    }

    /// The file in the package of Debian 12.
    const DEBIAN: &str = "version = 2\n\n[plugins]\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n    \
        [plugins.\"io.containerd.grpc.v1.cri\".cni]\n      bin_dir = \"/usr/lib/cni\"\n      conf_dir = \"/etc/cni/net.d\"\n  \
        [plugins.\"io.containerd.internal.v1.opt\"]\n    path = \"/var/lib/containerd\"\n";

    /// The file after `nvidia-ctk runtime configure --runtime=containerd --set-as-default`.
    const NVIDIA: &str = "imports = [\"/etc/containerd/conf.d/*.toml\"]\nversion = 2\n\n[plugins]\n\n  [plugins.\"io.containerd.grpc.v1.cri\"]\n\n    \
        [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n      default_runtime_name = \"nvidia\"\n\n      \
        [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes]\n\n        \
        [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia]\n          privileged_without_host_devices = false\n          \
        runtime_type = \"io.containerd.runc.v2\"\n\n          \
        [plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.nvidia.options]\n            BinaryName = \"/usr/bin/nvidia-container-runtime\"\n";

    #[test]
    fn a_new_file_has_the_format_of_the_version() {
        let three = config(None, 2, &cluster("")).unwrap();
        assert_eq!(
            three,
            format!(
                "{NEW_3}\n[plugins.\"io.containerd.cri.v1.images\".pinned_images]\n  sandbox = \"registry.k8s.io/pause:3.10.2\"\n\
                 \n[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n\
                 \n[plugins.\"io.containerd.cri.v1.runtime\".containerd.runtimes.runc.options]\n  SystemdCgroup = true\n\
                 \n[plugins.\"io.containerd.cri.v1.images\".registry]\n  config_path = \"/etc/containerd/certs.d\"\n"
            )
        );
        let two = config(None, 1, &cluster("")).unwrap();
        assert_eq!(
            two,
            format!(
                "{NEW_2}\n[plugins.\"io.containerd.grpc.v1.cri\"]\n  sandbox_image = \"registry.k8s.io/pause:3.10.2\"\n\
                 \n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc]\n  runtime_type = \"io.containerd.runc.v2\"\n\
                 \n[plugins.\"io.containerd.grpc.v1.cri\".containerd.runtimes.runc.options]\n  SystemdCgroup = true\n\
                 \n[plugins.\"io.containerd.grpc.v1.cri\".registry]\n  config_path = \"/etc/containerd/certs.d\"\n"
            )
        );
        let cgroupfs = cluster("kubelet: {config: {cgroupDriver: cgroupfs}}\n");
        assert!(!config(None, 2, &cgroupfs).unwrap().contains("SystemdCgroup"), "false is containerd's own default");
        let wrong = two.replace("SystemdCgroup = true", "SystemdCgroup = true # by hand");
        assert!(config(Some(&wrong), 1, &cgroupfs).unwrap().contains("SystemdCgroup = false # by hand"));
    }

    #[test]
    fn a_correct_file_is_unchanged() {
        for major in [1, 2] {
            for present in [None, Some(DEBIAN), Some(NVIDIA)] {
                let cluster = cluster("");
                let once = config(present, major, &cluster).unwrap();
                assert_eq!(config(Some(&once), major, &cluster).unwrap(), once);
            }
        }
    }

    #[test]
    fn the_file_of_debian_is_corrected() {
        let text = config(Some(DEBIAN), 1, &cluster("")).unwrap();
        assert!(text.starts_with("version = 2\n\n[plugins]\n"), "{text}");
        assert!(text.contains("bin_dir = \"/opt/cni/bin\"\n      conf_dir = \"/etc/cni/net.d\"\n"), "{text}");
        assert!(text.contains("path = \"/var/lib/containerd\"\n") && text.contains("SystemdCgroup = true"), "{text}");
        let own = cluster("addons: {cni: none}\n");
        assert!(config(Some(DEBIAN), 1, &own).unwrap().contains("/usr/lib/cni"), "another pod network");
        let two = "version = 3\n[plugins.'io.containerd.cri.v1.runtime'.cni]\nbin_dirs = ['/usr/lib/cni']\n";
        assert!(
            config(Some(two), 2, &cluster("")).unwrap().contains("bin_dirs = [\"/opt/cni/bin\", \"/usr/lib/cni\"]")
        );
    }

    #[test]
    fn runtimes_of_the_nvidia_toolkit_stay_and_follow_the_cgroup_driver() {
        let text = config(Some(NVIDIA), 1, &cluster("")).unwrap();
        let lost: Vec<&str> = NVIDIA.lines().filter(|line| !text.contains(line)).collect();
        assert_eq!(lost, [""; 0]);
        let toml = Toml::parse(text).unwrap();
        let runtimes = ["plugins", CRI, "containerd", "runtimes"];
        let option = |name, key| toml.string(&[&runtimes[..], &[name, "options", key]].concat()).map(str::to_owned);
        assert_eq!(option("nvidia", "BinaryName").as_deref(), Some("/usr/bin/nvidia-container-runtime"));
        assert_eq!(
            (option("nvidia", "SystemdCgroup"), option("runc", "SystemdCgroup")),
            (Some("true".into()), Some("true".into()))
        );
        assert_eq!(toml.string(&["plugins", CRI, "sandbox_image"]), Some("registry.k8s.io/pause:3.10.2"));
    }

    #[test]
    fn the_plugin_is_enabled_in_the_file_of_docker_and_a_file_of_version_1_is_refused() {
        let docker = "# Docker's\ndisabled_plugins = [\"cri\"]\n#[grpc]\n";
        let text = config(Some(docker), 1, &cluster("")).unwrap();
        assert!(text.starts_with("version = 2\n# Docker's\ndisabled_plugins = []\n#[grpc]\n"), "{text}");
        assert!(config(Some(docker), 2, &cluster("")).unwrap().starts_with("version = 3\n"));
        let old = |text| config(Some(text), 1, &cluster("")).unwrap_err();
        assert_eq!(old("[plugins.cri]\nsandbox_image = 'a'\n"), EditError::Version);
        assert_eq!(old("disabled_plugins = ['aufs']\n"), EditError::Version);
        assert_eq!(old("version = 2\n[plugins\n"), EditError::Toml(TomlError::Syntax(2)));
    }

    #[test]
    fn existing_mirrors_are_not_lost() {
        let with = |table: &str| format!("version = 2\n[plugins.\"{CRI}\".registry{table}\n");
        let mirrors = "images: {mirrors: [{registry: docker.io, urls: [\"https://m.example.org/hub\"]}]}\n";
        let own = with(".mirrors.\"docker.io\"]\n  endpoint = [\"https://x\"]");
        assert!(!config(Some(&own), 1, &cluster("")).unwrap().contains("config_path"));
        assert!(matches!(config(Some(&own), 1, &cluster(mirrors)), Err(EditError::Mirrors(_))));
        let other = with("]\n  config_path = '/etc/theirs'");
        let text = config(Some(&other), 1, &cluster(mirrors)).unwrap();
        assert!(text.contains("config_path = \"/etc/containerd/certs.d:/etc/theirs\""), "{text}");
        assert!(config(Some(&other), 1, &cluster("")).unwrap().contains("config_path = '/etc/theirs'"));
        assert!(config(Some(&other), 2, &cluster("")).unwrap().contains("config_path = '/etc/theirs'"));
        for found in ["/etc/theirs", "/etc/containerd/certs.d:/etc/theirs"] {
            let text = other.replace("/etc/theirs", found);
            assert_eq!(config(Some(&text), 2, &cluster(mirrors)), Err(EditError::Directory(found.to_owned())));
        }
    }

    #[test]
    fn mirrors_and_proxies() {
        let cluster = cluster(
            "images:\n  mirrors:\n  - {registry: docker.io, urls: [\"https://m.example.org/hub/\", \"http://10.0.0.1:5000\"]}\n\
             containerRuntime: {proxy: {https: \"http://proxy:3128/a%20b\", noProxy: [10.0.0.0/8, .example.org]}}\n",
        );
        let none = Logins::default();
        assert_eq!(
            Registry::all(&cluster.registry_mirrors, &none)[0].hosts(Some("/ca.crt"), &none),
            format!(
                "{HOSTS_HEAD}server = \"https://registry-1.docker.io\"\n\
                 \n[host.\"https://m.example.org/v2/hub\"]\ncapabilities = [\"pull\", \"resolve\"]\noverride_path = true\nca = \"/ca.crt\"\n\
                 \n[host.\"http://10.0.0.1:5000/v2\"]\ncapabilities = [\"pull\", \"resolve\"]\noverride_path = true\nca = \"/ca.crt\"\n"
            )
        );
        assert_eq!(
            proxy(&cluster.container_runtime.proxy),
            "# Written by nodeinit from containerRuntime.proxy.\n[Service]\nEnvironment=\"HTTPS_PROXY=http://proxy:3128/a%%20b\"\n\
             Environment=\"NO_PROXY=10.0.0.0/8,.example.org\"\n"
        );
    }

    #[test]
    fn logins_are_sent_only_to_their_registry() {
        let mirrors = |registry: &str, urls: &[&str]| RegistryMirrors {
            registry: registry.to_owned(),
            urls: urls.iter().map(|url| (*url).to_owned()).collect(),
        };
        let mirrors = [mirrors("docker.io", &["https://m.example.org/hub", "https://open.example.org"])];
        let auths = r#"{"auths": {"m.example.org": {"auth": "bTpx"}, "http://r.example:5000": {"auth": "cjpx"}, "docker.io": {"auth": "ZDpx"}}}"#;
        let logins = Logins::parse(auths.as_bytes()).unwrap();
        let all = Registry::all(&mirrors, &logins);
        let names: Vec<_> = all.iter().map(|registry| (&*registry.name, &*registry.server)).collect();
        let expected = [
            ("docker.io", "https://registry-1.docker.io"),
            ("r.example:5000", "http://r.example:5000"),
            ("m.example.org", "https://m.example.org"),
        ];
        assert_eq!(names, expected, "a mirror may have its own images");
        assert!(all.iter().all(|registry| registry.is_secret(&logins)));
        assert!(!Registry::mirrored(&mirrors[0]).is_secret(&Logins::default()));
        let text = all[0].hosts(Some("/ca.crt"), &logins);
        assert_eq!(
            text,
            format!(
                "{HOSTS_HEAD}server = \"https://registry-1.docker.io\"\n[header]\nAuthorization = \"Basic ZDpx\"\n\
                 \n[host.\"https://m.example.org/v2/hub\"]\ncapabilities = [\"pull\", \"resolve\"]\noverride_path = true\nca = \"/ca.crt\"\n\
                 [host.\"https://m.example.org/v2/hub\".header]\nAuthorization = \"Basic bTpx\"\n\
                 \n[host.\"https://open.example.org/v2\"]\ncapabilities = [\"pull\", \"resolve\"]\noverride_path = true\nca = \"/ca.crt\"\n"
            )
        );
        Toml::parse(&text).unwrap();
        let own = "server = \"http://r.example:5000\"\nca = \"/ca.crt\"\n[header]\nAuthorization = \"Basic cjpx\"\n";
        assert_eq!(all[1].hosts(Some("/ca.crt"), &logins), format!("{HOSTS_HEAD}{own}"));
        // A login names the scheme of a registry that has mirrors, too.
        let mirrored =
            Registry::all(&[RegistryMirrors { registry: "r.example:5000".into(), urls: Vec::new() }], &logins);
        assert_eq!((mirrored.len(), &*mirrored[0].server), (3, "http://r.example:5000"));
    }
}
