//! Each role's transition table.

mod table;
