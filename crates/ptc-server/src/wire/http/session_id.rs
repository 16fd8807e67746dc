//! Ids of MCP sessions that any server can check which knows the same token. Servers that share a store stand behind a
//! plain load balancer, so a request may reach one that did not open its session: the id says all that is needed to go
//! on, and its seal that it was given to the owner of this token.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest, Sha256};

use super::sessions::Agreed;
use crate::wire::identity::random_bytes;
use crate::wire::incoming::WITH_INITIALIZE;

const PREFIX: &str = "mcp_";
/// Random bytes, the number of the version and whether there are forms, and when the session began in seconds since
/// 1970; the seal follows.
const RANDOM: usize = 9;
const SEALED: usize = RANDOM + 1 + 4;
const BYTES: usize = 24;
/// The bit beside the version that says that the client has forms.
const FORMS: u8 = 0x80;

/// A new id for a session of this owner.
pub fn sealed(owner: &str, agreed: Agreed, born: u32) -> String {
    let mut bytes = [0; BYTES];
    bytes[..RANDOM].copy_from_slice(&random_bytes::<RANDOM>());
    let version = WITH_INITIALIZE.iter().position(|known| *known == agreed.protocol).unwrap_or_default();
    bytes[RANDOM] = u8::try_from(version).unwrap_or_default() | if agreed.forms { FORMS } else { 0 };
    bytes[RANDOM + 1..SEALED].copy_from_slice(&born.to_be_bytes());
    let seal = seal(owner, &bytes[..SEALED]);
    bytes[SEALED..].copy_from_slice(&seal);
    format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(bytes))
}

/// What was agreed on with, and the beginning of, a session that was given to this owner.
pub fn opened(id: &str, owner: &str) -> Option<(Agreed, u32)> {
    let bytes = URL_SAFE_NO_PAD.decode(id.strip_prefix(PREFIX)?).ok()?;
    let bytes: [u8; BYTES] = bytes.try_into().ok()?;
    let (told, shown) = bytes.split_at(SEALED);
    let wrong = seal(owner, told).iter().zip(shown).fold(0, |differ, (l, r)| differ | (l ^ r));
    let born = told[RANDOM + 1..].try_into().ok().map(u32::from_be_bytes)?;
    let protocol = WITH_INITIALIZE.get(usize::from(told[RANDOM] & !FORMS))?;
    let agreed = Agreed { protocol, forms: told[RANDOM] & FORMS != 0 };
    (wrong == 0).then_some((agreed, born))
}

/// Whoever knows the token could make one, for sessions of its own only.
fn seal(owner: &str, told: &[u8]) -> [u8; BYTES - SEALED] {
    let inner = Sha256::new_with_prefix("ptc mcp session ").chain_update(owner).finalize();
    let outer = Sha256::new_with_prefix(inner).chain_update(told).finalize();
    let mut seal = [0; BYTES - SEALED];
    seal.copy_from_slice(&outer[..BYTES - SEALED]);
    seal
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_opens_for_its_owner_only_and_not_when_it_was_changed() {
        for (protocol, forms) in WITH_INITIALIZE.into_iter().zip([true, false]) {
            let agreed = Agreed { protocol, forms };
            let id = sealed("ann", agreed, 1_700_000_000);
            assert_eq!(id.len(), PREFIX.len() + 32);
            assert_eq!(opened(&id, "ann"), Some((agreed, 1_700_000_000)));
            assert_eq!(opened(&id, "bob"), None);
            for at in PREFIX.len()..id.len() {
                let other = if id.as_bytes()[at] == b'A' { "B" } else { "A" };
                let mut changed = id.clone();
                changed.replace_range(at..=at, other);
                assert_eq!(opened(&changed, "ann"), None, "{at}");
            }
        }
        for strange in ["", "mcp_", "mcp_AAAA", "mcp_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "\u{1f600}"] {
            assert_eq!(opened(strange, "ann"), None, "{strange}");
        }
    }
}
