//! Programs that wait for approval: held at each call, carried as bytes, decided, and gone on with as if nothing
//! had happened.

mod corpus;
mod decisions;
mod hostile;
mod sessions;
mod support;
