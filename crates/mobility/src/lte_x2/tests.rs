//! The roles together on a small message bus, and each role's transition table.
