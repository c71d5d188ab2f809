//! Enums whose values have names in scenarios and records.

/// Declares an enum with `ALL`, its values in the order of their codes, and `name`, the name of a value.
#[macro_export]
macro_rules! named {
    ($(#[$about:meta])* $visibility:vis enum $type:ident { $($(#[$meaning:meta])* $value:ident => $name:literal,)+ }) => {
        $(#[$about])*
        $visibility enum $type {
            $($(#[$meaning])* $value,)+
        }

        impl $type {
            /// All values, in the order of their codes.
            pub const ALL: &'static [$type] = &[$($type::$value,)+];

            /// The name in scenarios, records and tables.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$value => $name,)+
                }
            }
        }
    };
}
