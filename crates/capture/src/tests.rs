//! Tests of whole captures: bytes in, flows and answers out.

mod anonymous;
mod build;
mod hostile;
mod paths;
mod qlogs;
mod reading;
mod stories;
