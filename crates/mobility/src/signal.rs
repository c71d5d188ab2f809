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
    /// All names, as in records and tables.
    const NAMES: &'static [&'static str];

    /// The place of its name in `NAMES`.
    fn number(&self) -> usize;

    /// Bytes on the wire, IP header included.
    fn size(&self) -> Bytes;

    /// True if it travels with data, in their queues, and overtakes none.
    fn in_band(&self) -> bool;
}

/// Makes the enum `Kind` of a protocol's messages and the table of their sizes. A row is one message: its variant, its
/// fields, its name, and its size. `size field = bytes` makes a field of the table. A size that is not one field, or that
/// of another row, is `total` and an expression over the table and the message's fields. `and` makes one more field.
macro_rules! messages {
    (
        $(#[$sizes_doc:meta])*
        Sizes as $sizes:ident $(, in band: $($band:ident),+)?;
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
        pub(super) struct Sizes {
            $(
                $($(#[$size_doc])* pub $size: roamlab_engine::Bytes,)?
                $($(#[$and_doc])* pub $and: roamlab_engine::Bytes,)?
            )+
        }

        /// The sizes of its messages.
        pub(super) const SIZES: Sizes = Sizes {
            $(
                $($size: roamlab_engine::Bytes($bytes),)?
                $($and: roamlab_engine::Bytes($and_bytes),)?
            )+
        };

        #[cfg(test)]
        impl Kind {
            /// Every size, by its field.
            pub fn sizes() -> Vec<(&'static str, roamlab_engine::Bytes)> {
                vec![$(
                    $((stringify!($size), SIZES.$size),)?
                    $((stringify!($and), SIZES.$and),)?
                )+]
            }
        }

        impl $crate::Kind for Kind {
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
            fn size(&self) -> roamlab_engine::Bytes {
                let $sizes = SIZES;
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
        }
    };
    (@size $sizes:ident [$size:ident] []) => { $sizes.$size };
    (@size $sizes:ident [$($size:ident)?] [$total:expr]) => { roamlab_engine::Bytes($total) };
}

pub(crate) use messages;
