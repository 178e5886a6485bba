//! The forms of single values, each with its format. A type with only one format is its own form.

use super::{
    declare::Text,
    values::{ArtifactSource, Endpoint, Opening, Share, Taint},
};
use crate::{
    model::{
        format::{self as f, Format},
        versions::{ContainerdVersion, KubernetesVersion},
    },
    problem::Flaw,
};
use ipnet::IpNet;
use std::{net::IpAddr, path::PathBuf, time::Duration};

/// Values that are parsed to a type.
macro_rules! parsed {
    ($($form:ty as $value:ty = $format:ident, $parse:path;)*) => {$(
        impl Text for $form {
            type Value = $value;
            const FORMAT: &'static Format = &f::$format;

            fn parse(text: &str) -> Result<$value, Flaw> {
                $parse(text)
            }
        }
    )*};
}

/// Values that stay strings.
macro_rules! checked {
    ($($form:ident = $format:ident;)*) => {$(
        pub(crate) enum $form {}

        impl Text for $form {
            type Value = String;
            const FORMAT: &'static Format = &f::$format;

            fn parse(text: &str) -> Result<String, Flaw> {
                f::$format.check(text).map(|()| text.to_owned())
            }
        }
    )*};
}

/// A SHA-256 digest of a public key.
pub(crate) enum CaPin {}
/// A line of an SSH public key: type and base64.
pub(crate) enum HostKey {}
/// The same for the key of a bundle.
pub(crate) enum BundleKey {}
/// A UUID in lower case.
pub(crate) enum Uuid {}
/// A path that need not be absolute.
pub(crate) enum LocalPath {}
/// Permission bits.
pub(crate) enum FileMode {}
/// A large number.
pub(crate) enum Number {}

fn local_path(text: &str) -> Result<PathBuf, Flaw> {
    f::LOCAL_PATH.check(text).map(|()| PathBuf::from(text))
}

parsed! {
    ArtifactSource as ArtifactSource = SOURCE, f::source;
    BundleKey as String = BUNDLE_KEY, f::bundle_key;
    CaPin as [u8; 32] = CA_PIN, f::ca_pin;
    ContainerdVersion as ContainerdVersion = MINOR, f::minor;
    Duration as Duration = DURATION, f::duration;
    Endpoint as Endpoint = ENDPOINT, f::endpoint;
    FileMode as u32 = FILE_MODE, f::file_mode;
    HostKey as String = HOST_KEY, f::host_key;
    IpAddr as IpAddr = ADDRESS, f::address;
    IpNet as IpNet = CIDR, f::cidr;
    KubernetesVersion as KubernetesVersion = VERSION, f::version;
    LocalPath as PathBuf = LOCAL_PATH, local_path;
    Number as u64 = NUMBER, f::number;
    Opening as Opening = OPENING, f::opening;
    PathBuf as PathBuf = ABSOLUTE_PATH, f::absolute;
    Share as Share = SHARE, f::share;
    Taint as Taint = TAINT, f::taint;
    Uuid as String = UUID, f::uuid;
    [u8; 32] as [u8; 32] = SHA256, f::sha256;
    u16 as u16 = PORT, f::port;
    u32 as u32 = GIBIBYTES, f::gibibytes;
    usize as usize = COUNT, f::count;
}

checked! {
    AnyText = ANY_TEXT;
    Argument = ARGUMENT;
    AuthorizedKey = AUTHORIZED_KEY;
    CertSan = CERT_SAN;
    CloudName = CLOUD_NAME;
    DataSize = DATA_SIZE;
    FileSource = FILE_SOURCE;
    FlagName = FLAG;
    Host = HOST;
    ImageName = IMAGE;
    ImageTag = IMAGE_TAG;
    Keymap = KEYMAP;
    KubeadmApi = KUBEADM_API;
    Label = LABEL;
    LabelKey = LABEL_KEY;
    LabelValue = LABEL_VALUE;
    Locale = LOCALE;
    Module = MODULE;
    NoProxy = NO_PROXY;
    NodeName = NODE_NAME;
    Owner = OWNER;
    Package = PACKAGE;
    PasswordHash = PASSWORD_HASH;
    PemCertificate = PEM_CERTIFICATE;
    PemCertificates = PEM_CERTIFICATES;
    ProxyMode = PROXY_MODE;
    RelativePath = RELATIVE_PATH;
    Repository = REPOSITORY;
    Sentence = SENTENCE;
    SshdOption = SSHD_OPTION;
    Subdomain = SUBDOMAIN;
    Sysctl = SYSCTL;
    Template = TEMPLATE;
    TimeServer = TIME_SERVER;
    TimeZone = TIME_ZONE;
    UnitName = UNIT_NAME;
    Url = URL;
    User = USER;
}
