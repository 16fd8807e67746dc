//! What stands between sockets and the answers of the HTTP servers here.
//!
//! Connections are bounded in total and per address ([`Connections`]). A server that is full closes the oldest
//! connection that holds no request which has arrived, so that idle peers keep nobody out, and owners leave connections to
//! each other. The head of a request has a time limit and a size limit; a peer that takes nothing of what waits for it is
//! given up after the same time. Headers that decide who may ask must not be sent twice. Bodies are read by whoever has
//! admitted the request, with a bound and a time limit, and owners share a bounded room for them, and for answers that wait to be written
//! ([`Bodies`], [`Answer`]). Where
//! requests and answers are streams that go on beside each other, the same holds for what a request begins with
//! ([`Bodies::opening`]).

mod answer;
mod body;
mod connections;
mod headers;
mod json;
mod look;
mod opening;
mod patient;
mod room;
mod serve;

pub use self::answer::Answer;
pub use self::body::{Arrived, Bodies, BodyError};
pub use self::connections::{Bounds, Connections, Hold, Peer, Rest, Stats, network};
pub use self::headers::repeated;
pub use self::json::Json;
pub use self::look::PALETTE;
pub use self::opening::Opening;
pub use self::room::Full;
pub use self::serve::Protocol;
