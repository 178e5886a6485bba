//! What the cloud's services answer when they refuse, and what to do about it.

use std::time::Duration;

/// What a service of the cloud said, or that it said nothing.
#[derive(Clone, Debug, thiserror::Error)]
pub enum ApiError {
    /// An answer that is a refusal.
    #[error("{request}: answered {status}: {message}")]
    Answer {
        /// Method, service and path.
        request: String,
        /// The HTTP status.
        status: u16,
        /// The service's own words.
        message: String,
        /// How long the service asks its clients to wait.
        retry_after: Option<Duration>,
    },
    /// No answer at all.
    #[error("{request}: no answer: {cause}")]
    NoAnswer {
        /// Method, service and path.
        request: String,
        /// Why.
        cause: String,
    },
    /// The service's certificate is not good. Waiting does not change a certificate.
    #[error("{request}: {cause}")]
    Untrusted {
        /// Method, service and path.
        request: String,
        /// What is wrong with it.
        cause: String,
    },
    /// The service redirects to where its token must not go.
    #[error("{request}: {cause}")]
    Redirected {
        /// Method, service and path.
        request: String,
        /// From where to where.
        cause: String,
    },
    /// An answer that is not read to its end.
    #[error("{request}: the answer of {url} is longer than {} MiB", limit >> 20)]
    TooLong {
        /// Method, service and path.
        request: String,
        /// Where it came from.
        url: String,
        /// The most that is read, in bytes.
        limit: usize,
    },
    /// The catalogue has no such service.
    #[error("the cloud's catalogue has no service {service} (interface {interface}{})", .region.as_ref().map(|r| format!(", region {r}")).unwrap_or_default())]
    NoService {
        /// Its type.
        service: &'static str,
        /// The interface that was asked for.
        interface: String,
        /// The region that was asked for.
        region: Option<String>,
    },
    /// The cloud has several regions, and nothing names one.
    #[error("the cloud has the regions {}, and none is chosen", .0.join(", "))]
    Regions(Vec<String>),
    /// The console of a server.
    #[error("the console of {server} cannot be read (os-getConsoleOutput): {source}{}", no_console(.source))]
    Console {
        /// Such as `server/m1`.
        server: String,
        /// Why.
        source: Box<ApiError>,
    },
    /// An answer that cannot be read.
    #[error("{request}: the answer cannot be read: {cause}")]
    Unreadable {
        /// Method, service and path.
        request: String,
        /// Why.
        cause: String,
    },
}

impl ApiError {
    /// The HTTP status, where there was one.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Answer { status, .. } => Some(*status),
            Self::Console { source, .. } => source.status(),
            _ => None,
        }
    }

    /// How long the service asks its clients to wait.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Answer { retry_after, .. } => *retry_after,
            _ => None,
        }
    }

    /// Whether the service has more requests than it can handle. Cinder's quota is a 413 too, and asks nobody to wait.
    pub fn is_overload(&self) -> bool {
        match self {
            Self::Answer { status: 413, retry_after, .. } => retry_after.is_some_and(|pause| !pause.is_zero()),
            Self::Answer { status, .. } => matches!(status, 429 | 503),
            _ => false,
        }
    }

    /// Whether trying again may help.
    pub fn may_heal(&self) -> bool {
        match self {
            _ if self.is_overload() => true,
            Self::Answer { status, .. } => matches!(status, 408 | 425 | 429 | 500 | 502 | 503 | 504),
            Self::NoAnswer { .. } => true,
            Self::Console { source, .. } => source.may_heal(),
            Self::NoService { .. }
            | Self::Regions(_)
            | Self::Unreadable { .. }
            | Self::Untrusted { .. }
            | Self::Redirected { .. }
            | Self::TooLong { .. } => false,
        }
    }

    /// A lower-case sentence that tells what to do, where there is something.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Answer { status: 401, .. } => {
                "check user, password, project and domain in clouds.yaml or in the OS_* variables"
            }
            Self::Answer { status: 403 | 413, message, .. } if message.to_lowercase().contains("quota") => {
                "request a larger quota, or use fewer or smaller machines"
            }
            Self::Answer { status: 403, request, .. } if request.contains("loadbalancer") => {
                "request the role load-balancer_member, or set `openstack.loadBalancer.enabled: false`"
            }
            Self::Answer { status: 403, request, .. } => {
                let policy = policy(request).map(|policy| format!(", or for the policy `{policy}`"));
                let policy = policy.unwrap_or_default();
                return Some(format!("ask the cloud's operator for the role `member` in this project{policy}"));
            }
            Self::Answer { status: 501, .. } => {
                "the cloud lacks this function (an extension, or its hypervisor's driver): ask its operator"
            }
            Self::Console { source, .. } if !source.may_heal() => {
                "write the SSH host key of the machine under its `hostKeys` in the configuration"
            }
            Self::Regions(_) => "set `region_name` in clouds.yaml, or OS_REGION_NAME, to one of them",
            Self::Untrusted { .. } => "set `cacert` to the CA's certificate in clouds.yaml (OS_CACERT)",
            Self::Redirected { .. } => {
                "correct the URL of the service, so that it does not redirect: `auth_url` in clouds.yaml (OS_AUTH_URL), or the endpoint in the cloud's catalogue"
            }
            Self::NoService { service: "load-balancer", .. } => {
                "set `openstack.loadBalancer.enabled: false` and `controlPlane.virtualAddress`"
            }
            error if error.may_heal() => "run the same command again to resume",
            _ => return None,
        };
        Some(hint.to_owned())
    }
}

/// Why Nova shows no console.
fn no_console(error: &ApiError) -> &'static str {
    match error.status() {
        Some(403) => "; the user's role lacks the policy `os_compute_api:os-console-output`",
        Some(404) => "; Nova keeps no console log of this server",
        Some(501) => "; the hypervisor's driver has no console log",
        _ => "",
    }
}

/// The policy that decides about a request, such as `post network /ports`. Sources: the sample policies of Nova, Neutron, Cinder and
/// Glance.
fn policy(request: &str) -> Option<String> {
    let [method, service, path] = request.split(' ').collect::<Vec<_>>()[..] else { return None };
    let verb = match method {
        "get" => "get",
        "post" => "create",
        "put" => "update",
        _ => "delete",
    };
    let segments: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    Some(match (service, &segments[..]) {
        ("network", [_, _, action @ ("add_router_interface" | "remove_router_interface")]) => (*action).to_owned(),
        ("network", [collection, ..]) => format!("{verb}_{}", collection.trim_end_matches('s').replace('-', "_")),
        ("compute", ["servers", "detail"]) => "os_compute_api:servers:detail".to_owned(),
        ("compute", ["servers", _, "metadata"]) => "os_compute_api:server-metadata:create".to_owned(),
        ("compute", ["servers", _, ..]) if verb != "delete" => return None,
        ("compute", [collection @ ("servers" | "os-server-groups"), ..]) => {
            format!("os_compute_api:{collection}:{}", if verb == "get" { "index" } else { verb })
        }
        ("volume", ["volumes", "detail"]) => "volume:get_all".to_owned(),
        ("volume", ["volumes", _, "metadata"]) => "volume:create_volume_metadata".to_owned(),
        ("volume", ["volumes", ..]) => format!("volume:{verb}"),
        ("image", _) => "get_images".to_owned(),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(request: &str, status: u16) -> ApiError {
        ApiError::Answer { request: request.to_owned(), status, message: "no".to_owned(), retry_after: None }
    }

    #[test]
    fn a_refusal_names_the_policy() {
        for (request, policy) in [
            ("post network /ports", ", or for the policy `create_port`"),
            ("put network /security-groups/x", ", or for the policy `update_security_group`"),
            ("put network /routers/x/add_router_interface", ", or for the policy `add_router_interface`"),
            ("post compute /servers", ", or for the policy `os_compute_api:servers:create`"),
            ("delete compute /servers/x", ", or for the policy `os_compute_api:servers:delete`"),
            ("post compute /servers/x/action", ""),
            ("post compute /os-server-groups", ", or for the policy `os_compute_api:os-server-groups:create`"),
            ("post volume /volumes", ", or for the policy `volume:create`"),
        ] {
            let hint = answer(request, 403).hint().unwrap();
            assert_eq!(hint, format!("ask the cloud's operator for the role `member` in this project{policy}"));
        }
        assert!(answer("post loadbalancer /loadbalancers", 403).hint().unwrap().contains("load-balancer_member"));
        assert!(answer("post network /ports", 501).hint().unwrap().starts_with("the cloud lacks this function"));
        assert_eq!(answer("post network /ports", 400).hint(), None);
    }

    #[test]
    fn a_console_that_cannot_be_read_says_why_and_what_helps() {
        for (status, why) in [(403, "os_compute_api:os-console-output"), (404, "no console log"), (501, "driver")] {
            let source = Box::new(answer("post compute /servers/x/action", status));
            let error = ApiError::Console { server: "server/m1".to_owned(), source };
            let told = error.to_string();
            assert!(told.starts_with("the console of server/m1 cannot be read") && told.contains(why), "{told}");
            assert!(error.hint().unwrap().contains("`hostKeys`") && error.status() == Some(status));
        }
        let source = Box::new(answer("post compute /servers/x/action", 503));
        let busy = ApiError::Console { server: "server/m1".to_owned(), source };
        assert_eq!(busy.hint().unwrap(), "run the same command again to resume");
    }
}
