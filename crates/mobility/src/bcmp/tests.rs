//! Each role's transition table, and what the roles agree on.
