//! The macros that declare keys, and the traits that read declared values.
//!
//! `keys!` declares the keys of a map. It generates the struct, its reader, the places of its keys, and [`Field`]s, from which the check,
//! the defaults, the JSON Schema, the template, the reference and the projections are derived. An entry has this form; parts in brackets
//! are optional, in this order:
//!
//! ```text
//! /// The description.
//! "key" field: Type [as Form] [= "default" or required] [, else "the effective default" [(reader)]] [, example "…"]
//!     [, reserved KEYS], to all|masters|workers|nobody [, immutable] [=> rule];
//! ```
//!
//! `Form` is the format of the value if the type does not determine it: `String as Label`. `reader` computes the value of a missing key
//! from the configuration. `rule` checks a value in the right format against others.

pub(crate) mod place;

use crate::{
    model::{field::Kind, format::Format, release::Releases, versions::KubernetesVersion},
    problem::{Findings, Flaw},
    text::tree::{Value, YamlNode},
};
use ipnet::IpNet;
use place::Place;
use serde_json::{Map, Value as Json};
use std::{collections::BTreeMap, marker::PhantomData, path::PathBuf};

/// The findings of the rules.
pub(crate) struct Verdict<'r> {
    pub(crate) errors: Findings,
    pub(crate) warnings: Findings,
    pub(crate) releases: &'r Releases,
    pub(crate) machines: Machines,
}

/// The machines to which the values of `os` apply.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Machines {
    All,
    Nodes,
    Bastion,
}

/// The form in which a value is written.
pub(crate) trait Form: Sized {
    /// The type of the parsed value.
    type Value;
    /// The allowed values.
    const KIND: Kind;
    /// Reads the value at `place`, written or not. `None` if it is missing, or was reported as wrong.
    fn read(place: &Place<'_, Self>) -> Option<Self::Value>;
    /// Applies the rules of its keys.
    fn check(_place: &Place<'_, Self>, _verdict: &mut Verdict<'_>) {}
    /// Collects its values that cannot change in place, by path.
    fn immutable(_place: &Place<'_, Self>, _values: &mut BTreeMap<String, String>) {}
}

/// A single value of a format.
pub(crate) trait Text {
    type Value;
    const FORMAT: &'static Format;
    fn parse(text: &str) -> Result<Self::Value, Flaw>;
}

impl<T: Text> Form for T {
    type Value = T::Value;
    const KIND: Kind = Kind::Text(T::FORMAT);

    fn read(place: &Place<'_, Self>) -> Option<T::Value> {
        T::parse(place.written()?.scalar()?).ok()
    }
}

impl Form for bool {
    type Value = Self;
    const KIND: Kind = Kind::Flag;

    fn read(place: &Place<'_, Self>) -> Option<Self> {
        place.written()?.json().as_bool()
    }
}

/// Empty if there is no entry.
impl<F: Form> Form for Vec<F> {
    type Value = Vec<F::Value>;
    const KIND: Kind = Kind::List(&F::KIND);

    fn read(place: &Place<'_, Self>) -> Option<Self::Value> {
        let good = place.items().into_iter().filter(|item| item.written().is_some_and(|node| node.value != Value::Bad));
        good.map(|item| F::read(&item)).collect()
    }

    fn check(place: &Place<'_, Self>, verdict: &mut Verdict<'_>) {
        place.items().iter().for_each(|item| F::check(item, verdict));
    }
}

/// A map whose keys the user chooses. Empty if there is no entry.
pub(crate) struct Dict<K, V>(PhantomData<(K, V)>);

impl<K: Text, V: Text> Form for Dict<K, V> {
    type Value = BTreeMap<String, V::Value>;
    const KIND: Kind = Kind::Dict { keys: K::FORMAT, values: V::FORMAT, reserved: &[] };

    fn read(place: &Place<'_, Self>) -> Option<Self::Value> {
        let value = |text: Option<&str>| V::parse(text?).ok();
        let entries = place.entries().iter();
        Some(entries.filter_map(|entry| Some((entry.key.clone(), value(entry.node.scalar())?))).collect())
    }
}

/// Any map, passed on unchanged.
impl Form for Map<String, Json> {
    type Value = Self;
    const KIND: Kind = Kind::Free { reserved: &[] };

    fn read(place: &Place<'_, Self>) -> Option<Self> {
        Some(place.written().map(YamlNode::json_map).unwrap_or_default())
    }
}

/// What overrides the section of form `F` on some machines: any of its keys, without defaults. The rules apply to the merged
/// values ([`crate::model::overrides`]).
pub(crate) struct Over<F>(PhantomData<F>);

impl<F: Form> Form for Over<F> {
    type Value = Map<String, Json>;
    const KIND: Kind = Kind::Over(F::KIND.fields());

    fn read(place: &Place<'_, Self>) -> Option<Self::Value> {
        Some(place.written().map(YamlNode::json_map).unwrap_or_default())
    }
}

/// How a struct holds a value: directly, or as an `Option` if it may be missing.
pub(crate) trait Entry {
    type Form: Form;
    type Value;
    fn take(place: &Place<'_, Self::Form>) -> Option<Self::Value>;
}

impl<F: Form> Entry for F {
    type Form = F;
    type Value = F::Value;

    fn take(place: &Place<'_, F>) -> Option<F::Value> {
        F::read(place)
    }
}

impl<F: Form> Entry for Option<F> {
    type Form = F;
    type Value = Option<F::Value>;

    fn take(place: &Place<'_, F>) -> Option<Option<F::Value>> {
        if place.is_written() { F::read(place).map(Some) } else { Some(None) }
    }
}

/// A value that cannot change in place, in the form that the journal records.
pub(crate) trait Shown {
    fn shown(&self) -> String;
}

macro_rules! shown {
    ($($type:ty)*) => {$(
        impl Shown for $type {
            fn shown(&self) -> String {
                self.to_string()
            }
        }
    )*};
}

shown!(String IpNet KubernetesVersion);

impl Shown for PathBuf {
    fn shown(&self) -> String {
        self.display().to_string()
    }
}

/// Returns the same kind of map without the keys that nodeinit manages, each with the reason.
pub(crate) const fn reserving(kind: Kind, reserved: &'static [(&'static str, &'static str)]) -> Kind {
    match kind {
        Kind::Dict { keys, values, .. } => Kind::Dict { keys, values, reserved },
        Kind::Free { .. } => Kind::Free { reserved },
        other => other,
    }
}

macro_rules! keys {
    (@to all) => { $crate::model::field::Audience::All };
    (@to masters) => { $crate::model::field::Audience::Masters };
    (@to workers) => { $crate::model::field::Audience::Workers };
    (@to nobody) => { $crate::model::field::Audience::Nobody };
    (@form $type:ty;) => { $type };
    (@form $type:ty; $form:ty) => { $form };
    (@value) => { Self };
    (@value $value:ty) => { $value };
    (@resolve $read:ident;) => { Some($read) };
    (@resolve $read:ident; $resolve:ident) => { $resolve($read) };
    (@kind $form:ty;) => { <<$form as $crate::model::declare::Entry>::Form as $crate::model::declare::Form>::KIND };
    (@kind $form:ty; $reserved:expr) => { $crate::model::declare::reserving(keys!(@kind $form;), $reserved) };
    (@fallback required;;) => { $crate::model::field::Fallback::Required };
    (@fallback ($default:expr);;) => { $crate::model::field::Fallback::Value($default) };
    (@fallback $default:literal;;) => { $crate::model::field::Fallback::Value($default) };
    (@fallback ; $words:literal; $example:literal) => { $crate::model::field::Fallback::Words($words, $example) };
    (@fallback ;; $example:literal) => { $crate::model::field::Fallback::Empty($example) };
    (@fallback ;;) => { $crate::model::field::Fallback::Empty("") };
    (@take $form:ty, $place:expr;) => { <$form as $crate::model::declare::Entry>::take(&$place)? };
    (@take $form:ty, $place:expr; $otherwise:expr) => {
        match $place {
            place if place.is_written() => <$form as $crate::model::declare::Entry>::take(&place)?,
            place => $otherwise(&place.all())?,
        }
    };
    (@immutable $place:ident, $values:ident) => {
        $values.extend($place.read().map(|(value, _)| ($place.path.clone(), $crate::model::declare::Shown::shown(&value))))
    };

    (
        $(#[$attribute:meta])*
        $vis:vis struct $group:ident $(as $value:ty, by $resolve:ident)? {
            $(
                $(#[doc = $doc:literal])+
                $key:literal $name:ident: $type:ty $(as $form:ty)? $(= $default:tt)?
                $(, else $words:literal $(($otherwise:expr))?)? $(, example $example:literal)? $(, reserved $reserved:expr)?
                , to $audience:ident $(, $immutable:ident)? $(=> $rule:expr)?;
            )*
        }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, PartialEq)]
        $vis struct $group {
            $($(#[doc = $doc])+ pub $name: $type,)*
        }

        impl $group {
            pub(crate) const KEYS: &'static [$crate::model::field::Field] = &[$(
                $crate::model::field::Field {
                    key: $key,
                    kind: keys!(@kind keys!(@form $type; $($form)?); $($reserved)?),
                    default: keys!(@fallback $($default)?; $($words)?; $($example)?),
                    doc: concat!($($doc),+).trim_ascii(),
                    audience: keys!(@to $audience),
                },
            )*];
        }

        impl<'t> $crate::model::declare::place::Place<'t, $group> {
            $(
                pub(crate) fn $name(
                    &self,
                ) -> $crate::model::declare::place::Place<'t, <keys!(@form $type; $($form)?) as $crate::model::declare::Entry>::Form> {
                    self.below($key)
                }
            )*
        }

        impl $crate::model::declare::Form for $group {
            type Value = keys!(@value $($value)?);
            const KIND: $crate::model::field::Kind = $crate::model::field::Kind::Group(Self::KEYS);

            fn read(place: &$crate::model::declare::place::Place<'_, Self>) -> Option<Self::Value> {
                let read = Self {
                    $($name: keys!(@take keys!(@form $type; $($form)?), place.$name(); $($($otherwise)?)?),)*
                };
                keys!(@resolve read; $($resolve)?)
            }

            fn check(
                place: &$crate::model::declare::place::Place<'_, Self>,
                verdict: &mut $crate::model::declare::Verdict<'_>,
            ) {
                $(
                    let inner = place.$name();
                    $crate::model::declare::Form::check(&inner, verdict);
                    $($rule(&inner, verdict);)?
                )*
            }

            fn immutable(
                place: &$crate::model::declare::place::Place<'_, Self>,
                values: &mut std::collections::BTreeMap<String, String>,
            ) {
                $(
                    let inner = place.$name();
                    $crate::model::declare::Form::immutable(&inner, values);
                    $(keys!(@$immutable inner, values);)?
                )*
            }
        }
    };
}

/// Declares a value that is one of a few words, each with its meaning.
macro_rules! choice {
    (
        $(#[$attribute:meta])*
        $vis:vis enum $choice:ident { $($(#[doc = $meaning:literal])+ $word:literal $variant:ident,)+ }
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        $vis enum $choice {
            $($(#[doc = $meaning])+ $variant,)+
        }

        impl $choice {
            pub(crate) const WORDS: &'static [(&'static str, &'static str)] =
                &[$(($word, concat!($($meaning),+).trim_ascii())),+];
        }

        impl $crate::model::declare::Form for $choice {
            type Value = Self;
            const KIND: $crate::model::field::Kind = $crate::model::field::Kind::Choice(Self::WORDS);

            fn read(place: &$crate::model::declare::place::Place<'_, Self>) -> Option<Self> {
                match place.written()?.scalar()? {
                    $($word => Some(Self::$variant),)+
                    _ => None,
                }
            }
        }
    };
}

pub(crate) use {choice, keys};
