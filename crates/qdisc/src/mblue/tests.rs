//! Numbers from the sources.
