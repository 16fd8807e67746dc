//! What stands between sockets and the answers of the HTTP servers here.
//!
//! Connections are bounded in total and per address ([`Connections`]). A server that is full closes the oldest
//! connection that holds no request which has arrived, so that idle peers keep nobody out. The head of a request has a
//! time limit and a size limit. Headers that decide who may ask must not be sent twice. Bodies are read by whoever has
//! admitted the request, with a bound and a time limit, and owners share a bounded room for them ([`Bodies`]). Where
//! requests and answers are streams that go on beside each other, the same holds for what a request begins with
//! ([`Bodies::opening`]).

mod body;
mod connections;
mod headers;
mod json;
mod look;
mod opening;
mod serve;

pub use self::body::{Arrived, Bodies, BodyError};
pub use self::connections::{Bounds, Connections, Hold, Stats, network};
pub use self::headers::repeated;
pub use self::json::Json;
pub use self::look::PALETTE;
pub use self::opening::Opening;
pub use self::serve::{Peer, Protocol};
