//! Whether a request comes from the Restate server whose key is known. The SDK reads the tokens and leaves the
//! signature to whichever cryptography it is given; `ring` is in every build anyway.

use jsonwebtoken::crypto::{CryptoProvider, JwkUtils, JwtSigner, JwtVerifier};
use jsonwebtoken::errors::{ErrorKind, Result};
use jsonwebtoken::signature::{Error, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey};
use ring::signature::{ED25519, UnparsedPublicKey};

/// Restate signs with nothing else.
static ED25519_ONLY: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    jwk_utils: JwkUtils::new_unimplemented(),
};

/// Has signatures checked, in this process.
pub(crate) fn install() {
    // Whoever was there before checks them too.
    let _ = ED25519_ONLY.install_default();
}

struct Key(Vec<u8>);

impl Verifier<Vec<u8>> for Key {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        UnparsedPublicKey::new(&ED25519, &self.0).verify(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for Key {
    fn algorithm(&self) -> Algorithm {
        Algorithm::EdDSA
    }
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    match algorithm {
        Algorithm::EdDSA => Ok(Box::new(Key(key.as_bytes().to_vec()))),
        _ => Err(ErrorKind::InvalidAlgorithm.into()),
    }
}

fn signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(ErrorKind::InvalidAlgorithm.into())
}
