//! Sans-IO TCP and UDP endpoints.
