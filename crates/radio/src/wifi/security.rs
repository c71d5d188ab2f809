//! The parameters of authentication and keys of 802.11.

use roamlab_engine::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Authentication and keys (IEEE Std 802.11-2007 clause 8; 802.11r-2008 for fast transition).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Security {
    /// How hosts are authenticated.
    pub kind: Authentication,
    /// A host that has keys changes cells with the frames of 802.11r: authentication and reassociation carry the keys.
    pub fast_transition: bool,
    /// Keys of an EAP authentication that are used again.
    pub key_caching: KeyCaching,
    /// The node of the authentication server, of `kind = "eap"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// Requests of EAP, each with a response that goes to the server.
    pub eap_rounds: u32,
    /// How long the server computes for each answer.
    pub server_time: Duration,
}

/// How hosts are authenticated.
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Authentication {
    /// Open system authentication, and no keys.
    #[default]
    Open,
    /// A key that both ends know, and the four-way handshake (§8.5.3).
    Psk,
    /// EAP with a server (RFC 3748, IEEE Std 802.1X), and the four-way handshake.
    Eap,
}

/// Keys of an EAP authentication that are used again: a host that returns needs the four-way handshake alone (§8.4.1.2.1).
#[derive(Copy, Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KeyCaching {
    /// None.
    Off,
    /// At the base station where it was authenticated.
    #[default]
    Own,
    /// At all base stations: one controller keeps the keys (opportunistic key caching).
    Opportunistic,
}

/// ASSUMPTION: eight rounds of EAP: identity, the start of TLS, six for hellos, certificates and the end of TLS
/// (RFC 5216 §2.1.1, with certificates in three fragments each way). A server takes no time to compute.
impl Default for Security {
    fn default() -> Security {
        Security {
            kind: Authentication::Open,
            fast_transition: false,
            key_caching: KeyCaching::Own,
            server: None,
            eap_rounds: 8,
            server_time: Duration::ZERO,
        }
    }
}

impl Security {
    /// Checks the fields that need each other.
    ///
    /// # Errors
    /// The field at fault, and what to write.
    pub fn check(&self) -> Result<(), (String, String)> {
        let bad = |field: &str, message: &str| Err((format!("security.{field}"), message.to_owned()));
        if self.fast_transition && self.kind == Authentication::Open {
            let message = "fast transition carries keys, and `security.kind = \"open\"` has none: write `security.kind = \"psk\"` or \"eap\"";
            return bad("fast_transition", message);
        }
        match (self.kind, &self.server) {
            (Authentication::Eap, None) => {
                return bad(
                    "server",
                    "expected a node with `security.kind = \"eap\"`, got none: write the name of a router or a correspondent node",
                );
            }
            (Authentication::Open | Authentication::Psk, Some(_)) => {
                return bad(
                    "server",
                    "only `security.kind = \"eap\"` asks a server: write `security.kind = \"eap\"`, or remove this",
                );
            }
            _ => {}
        }
        if !(1..=100).contains(&self.eap_rounds) {
            let rounds = self.eap_rounds;
            return bad("eap_rounds", &format!("expected 1 to 100, got {rounds}: write for example 8"));
        }
        Ok(())
    }

    /// True if hosts and base stations agree on keys before data pass.
    pub fn has_keys(&self) -> bool {
        self.kind != Authentication::Open
    }
}
