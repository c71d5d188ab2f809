//! The table of a protocol's roles.

/// Makes the enum of a protocol's roles, and hands everything on to the role that there is.
macro_rules! roles {
    ($(#[$doc:meta])* $protocol:ident: $($(#[$role_doc:meta])* $role:ident,)+) => {
        $(#[$doc])*
        #[derive(Clone, Debug)]
        pub enum $protocol {
            $($(#[$role_doc])* $role($role),)+
        }

        $(impl From<$role> for $protocol {
            fn from(role: $role) -> $protocol {
                $protocol::$role(role)
            }
        })+

        #[cfg(test)]
        impl $crate::lab::Subject for $protocol {
            fn state(&self, host: roamlab_packet::Addr) -> &'static str {
                match self {
                    $($protocol::$role(role) => $crate::transitions::Machine::word(role, host),)+
                }
            }

            fn table(&self) -> Option<$crate::lab::TableOf> {
                match self {
                    $($protocol::$role(role) => $crate::transitions::Machine::table(role),)+
                }
            }

            fn on_without_table(&mut self, input: Input, now: roamlab_engine::Time, out: &mut Vec<Action>) {
                match self {
                    $($protocol::$role(role) => $crate::Agent::on(role, input, now, out),)+
                }
            }
        }

        impl $crate::Agent for $protocol {
            type Message = Message;
            type Phase = Phase;

            fn on(&mut self, input: Input, now: roamlab_engine::Time, out: &mut Vec<Action>) {
                match self {
                    $($protocol::$role(role) => $crate::transitions::Machine::step(role, input, now, out),)+
                }
            }

            fn heeds(&self, from: roamlab_packet::Addr, message: &Message) -> bool {
                match self {
                    $($protocol::$role(role) => role.heeds(from, message),)+
                }
            }

            fn wire(&self, message: &Message) -> Option<$crate::Wire> {
                match self {
                    $($protocol::$role(role) => role.wire(message),)+
                }
            }

            fn deadlines(&self, each: &mut dyn FnMut(roamlab_engine::Time)) {
                match self {
                    $($protocol::$role(role) => role.deadlines(each),)+
                }
            }

            fn queue(&self) -> Option<&std::collections::VecDeque<roamlab_engine::Time>> {
                match self {
                    $($protocol::$role(role) => role.queue(),)+
                }
            }
        }
    };
}

pub(crate) use roles;
