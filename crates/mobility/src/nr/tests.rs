//! The transition table of each role, and the interplay of the roles.
