//! The optional addons.

/// Declares the addons. The manifest `manifests/addons/NAME/NAME.yaml` describes each addon and lists its images.
macro_rules! addons {
    ($($name:literal $key:literal $addon:ident,)+) => {
        /// The optional addons; each is off by default.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Addon {
            $(#[doc = concat!("`addons.", $key, "`.")] $addon,)+
        }

        impl Addon {
            /// All addons in display order.
            pub const ALL: [Self; [$($name),+].len()] = [$(Self::$addon),+];

            /// Its name, as `addons list` shows it.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$addon => $name,)+
                }
            }

            /// Returns its key below `addons`.
            #[must_use]
            pub const fn key(self) -> &'static str {
                match self {
                    $(Self::$addon => $key,)+
                }
            }

            /// The name of its manifest, and of the file that replaces it.
            #[must_use]
            pub const fn file_name(self) -> &'static str {
                match self {
                    $(Self::$addon => concat!($name, ".yaml"),)+
                }
            }

            /// Its manifest.
            #[must_use]
            pub const fn manifest(self) -> &'static str {
                match self {
                    $(Self::$addon => include_str!(concat!("../../../../manifests/addons/", $name, "/", $name, ".yaml")),)+
                }
            }
        }
    };
}

// The name, which is also that of the folder; the key below `addons`; the type.
addons! {
    "metrics-server" "metricsServer" MetricsServer,
    "local-storage" "localStorage" LocalStorage,
    "monitoring" "monitoring" Monitoring,
    "logging" "logging" Logging,
    "ingress" "ingress" Ingress,
    "dashboard" "dashboard" Dashboard,
}

impl Addon {
    /// What it is: the comment in the first line of its manifest.
    #[must_use]
    pub const fn description(self) -> &'static str {
        let text = self.manifest();
        let (bytes, mut end) = (text.as_bytes(), 0);
        assert!(bytes[0] == b'#' && bytes[1] == b' ', "a manifest begins with a comment that describes the addon");
        while bytes[end] != b'\n' {
            end += 1;
        }
        text.split_at(end).0.split_at(2).1
    }

    /// Returns the images that its manifest uses.
    pub fn images(self) -> impl Iterator<Item = &'static str> {
        self.licensed_images().map(|(image, _)| image)
    }

    /// Each image, with its SPDX license identifier from the comment after it.
    pub(crate) fn licensed_images(self) -> impl Iterator<Item = (&'static str, Option<&'static str>)> {
        let written = self.manifest().lines().filter_map(|line| line.trim().strip_prefix("image: "));
        written.map(|image| image.split_once(" # ").map_or((image, None), |(image, license)| (image, Some(license))))
    }
}
