//! Signalling messages: the header that all protocols share, and the table of a protocol's messages.

use crate::agent::Action;
use crate::identification::Identification;
use roamlab_engine::Bytes;
use roamlab_packet::Addr;

/// A signalling message of a protocol. `K` is the enum of its messages.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Signal<K> {
    /// The home address of the mobile host that the message is about; `None`: of no host in particular.
    pub host: Option<Addr>,
    /// Orders the messages about a host. An older one never overrides a newer one.
    pub id: Identification,
    /// The message with its fields.
    pub kind: K,
}

impl<K> Signal<K> {
    /// A message about a host.
    pub fn about(host: Addr, id: Identification, kind: K) -> Signal<K> {
        Signal { host: Some(host), id, kind }
    }

    /// The action that sends it.
    pub fn to<P>(self, to: Addr) -> Action<Signal<K>, P> {
        Action::Send { to, message: self }
    }

    /// Its name, as in records and tables.
    pub fn name(&self) -> &'static str
    where
        K: Kind,
    {
        K::NAMES[self.kind.number()]
    }

    /// The same message with its kind turned into another type.
    pub(crate) fn map<L>(self, kind: impl FnOnce(K) -> L) -> Signal<L> {
        Signal { host: self.host, id: self.id, kind: kind(self.kind) }
    }
}

/// Sends a message about a host.
pub(crate) fn send<K, P>(
    to: Addr,
    (host, id, kind): (Addr, Identification, K),
    out: &mut Vec<Action<Signal<K>, P>>,
) {
    out.push(Signal::about(host, id, kind).to(to));
}

/// Sends a message that is about no host to all that hear this node.
pub(crate) fn broadcast<K, P>(kind: K, out: &mut Vec<Action<Signal<K>, P>>) {
    out.push(Signal { host: None, id: Identification::default(), kind }.to(Addr::BROADCAST));
}

/// The messages of a protocol, as [`messages!`] makes them.
pub trait Kind: Sized {
    /// The parameters that sizes depend on.
    type Sizes: Default;

    /// All names, as in records and tables.
    const NAMES: &'static [&'static str];

    /// The place of its name in `NAMES`.
    fn number(&self) -> usize;

    /// Bytes on the wire, IP header included.
    fn size(&self, sizes: &Self::Sizes) -> Bytes;

    /// True if it travels with data, in their queues, and overtakes none.
    fn in_band(&self) -> bool;

    /// Every size that is a parameter, by its field.
    fn sizes(sizes: &Self::Sizes) -> Vec<(&'static str, Bytes)>;
}

/// Makes the enum `Kind` of a protocol's messages and the table `Sizes` of its parameters. A row is one message: its
/// variant, its fields, its name, and its size. `size field = bytes` makes a parameter with this default. A size that
/// is not one parameter, or that of another row, is `total` and an expression over the table and the message's fields.
/// `and` makes one more parameter.
macro_rules! messages {
    (
        $(#[$sizes_doc:meta])*
        Sizes as $sizes:ident $(with $(#[$switch_doc:meta])* $switch:ident)? $(, in band: $($band:ident),+)?;
        $(
            $(#[$doc:meta])*
            $kind:ident $({ $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })? $name:literal
            $(size $(#[$size_doc:meta])* $size:ident = $bytes:literal)?
            $(and $(#[$and_doc:meta])* $and:ident = $and_bytes:literal)?
            $(total $total:expr)?;
        )+
    ) => {
        /// A message with its fields.
        #[derive(Clone, PartialEq, Eq, Debug)]
        pub enum Kind {
            $($(#[$doc])* $kind $({ $($(#[$field_doc])* $field: $type,)* })?,)+
        }

        $(#[$sizes_doc])*
        #[derive(Clone, PartialEq, Eq, Debug, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Sizes {
            $($(#[$switch_doc])* pub $switch: bool,)?
            $(
                $($(#[$size_doc])* #[doc = concat!("Default ", $bytes, " B.")] pub $size: roamlab_engine::Bytes,)?
                $($(#[$and_doc])* #[doc = concat!("Default ", $and_bytes, " B.")] pub $and: roamlab_engine::Bytes,)?
            )+
        }

        impl Default for Sizes {
            fn default() -> Self {
                Sizes {
                    $($switch: false,)?
                    $(
                        $($size: roamlab_engine::Bytes($bytes),)?
                        $($and: roamlab_engine::Bytes($and_bytes),)?
                    )+
                }
            }
        }

        impl $crate::Kind for Kind {
            type Sizes = Sizes;

            const NAMES: &'static [&'static str] = &[$($name,)+];

            fn number(&self) -> usize {
                enum Number {
                    $($kind,)+
                }
                match self {
                    $(Kind::$kind { .. } => Number::$kind as usize,)+
                }
            }

            #[expect(unused_variables, reason = "most sizes do not depend on the fields")]
            fn size(&self, $sizes: &Sizes) -> roamlab_engine::Bytes {
                match self {
                    $(Kind::$kind $({ $($field,)* })? => {
                        $crate::signal::messages!(@size $sizes [$($size)?] [$($total)?])
                    })+
                }
            }

            fn in_band(&self) -> bool {
                match self {
                    $($(Kind::$band { .. } => true,)+)?
                    _ => false,
                }
            }

            fn sizes(sizes: &Sizes) -> Vec<(&'static str, roamlab_engine::Bytes)> {
                vec![$(
                    $((stringify!($size), sizes.$size),)?
                    $((stringify!($and), sizes.$and),)?
                )+]
            }
        }
    };
    (@size $sizes:ident [$size:ident] []) => { $sizes.$size };
    (@size $sizes:ident [$($size:ident)?] [$total:expr]) => { roamlab_engine::Bytes($total) };
}

pub(crate) use messages;
