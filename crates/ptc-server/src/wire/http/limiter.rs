//! Wrong tokens, counted by address. Whoever sends too many is answered 429 for a while, instead of 401; requests with a
//! right token never come here, whatever else came from their address.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use ptc_http::network;

use crate::options::Options;

/// Which door is knocked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Door {
    /// The MCP endpoint.
    Mcp,
    /// The admin endpoints.
    Admin,
}

/// Addresses that are remembered at most. One more makes those be forgotten whose time is over, or all.
const MOST: usize = 65_536;

/// Counts failures by address.
#[derive(Debug)]
pub struct Limiter {
    on: bool,
    window: Duration,
    most: u64,
    block: Duration,
    seen: Mutex<HashMap<(Door, IpAddr), Seen>>,
}

#[derive(Debug)]
struct Seen {
    since: Instant,
    failures: u64,
    blocked_until: Option<Instant>,
}

impl Limiter {
    /// As the options say.
    pub fn new(options: &Options) -> Limiter {
        Limiter {
            on: options.http_auth_rate_limit,
            window: Duration::from_millis(options.http_auth_rate_limit_window_ms),
            most: options.http_auth_rate_limit_max_failures,
            block: Duration::from_millis(options.http_auth_rate_limit_block_ms),
            seen: Mutex::default(),
        }
    }

    /// The seconds an address has to wait, if it is blocked.
    pub fn blocked(&self, door: Door, address: IpAddr, now: Instant) -> Option<u64> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let until = seen.get(&(door, network(address))).filter(|_| self.on)?.blocked_until?;
        let left = until.checked_duration_since(now).filter(|left| !left.is_zero())?;
        Some(left.as_secs() + u64::from(left.subsec_nanos() > 0))
    }

    /// Notes a failure; true if it blocks the address.
    pub fn failed(&self, door: Door, address: IpAddr, now: Instant) -> bool {
        if !self.on {
            return false;
        }
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (door, network(address));
        if seen.len() >= MOST && !seen.contains_key(&key) {
            self.tidy(&mut seen, now);
            if seen.len() >= MOST {
                seen.clear();
            }
        }
        let fresh = || Seen { since: now, failures: 0, blocked_until: None };
        let entry = seen.entry(key).or_insert_with(fresh);
        let over = entry.blocked_until.is_some_and(|until| until <= now);
        if over || now.duration_since(entry.since) > self.window {
            *entry = fresh();
        }
        entry.failures += 1;
        if entry.failures >= self.most {
            entry.blocked_until = Some(now + self.block);
        }
        entry.failures >= self.most
    }

    /// Forgets what is over.
    pub fn sweep(&self, now: Instant) {
        self.tidy(&mut self.seen.lock().unwrap_or_else(PoisonError::into_inner), now);
    }

    fn tidy(&self, seen: &mut HashMap<(Door, IpAddr), Seen>, now: Instant) {
        seen.retain(|_, entry| match entry.blocked_until {
            Some(until) => until > now,
            None => now.duration_since(entry.since) <= self.window,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r1_7_6_the_nth_failure_blocks_for_a_while() {
        let limiter = Limiter::new(&Options::default());
        let (here, there) = (IpAddr::from([1, 2, 3, 4]), IpAddr::from([1, 2, 3, 5]));
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for n in 0..4 {
            assert!(!limiter.failed(Door::Mcp, here, at(n)));
        }
        assert_eq!(limiter.blocked(Door::Mcp, here, at(5)), None);
        assert!(limiter.failed(Door::Mcp, here, at(5)));
        assert_eq!(limiter.blocked(Door::Mcp, here, at(6)), Some(60));
        assert_eq!(limiter.blocked(Door::Mcp, there, at(6)), None);
        assert_eq!(limiter.blocked(Door::Admin, here, at(6)), None, "doors are counted apart");
        assert_eq!(limiter.blocked(Door::Mcp, here, at(60_005)), None);
        assert!(!limiter.failed(Door::Mcp, here, at(60_006)), "counts anew after the block");
        limiter.sweep(at(200_000));
        assert!(limiter.seen.lock().unwrap().is_empty());
    }

    #[test]
    fn r1_7_6_time_clears_the_count_and_the_table_is_bounded() {
        let limiter = Limiter::new(&Options::default());
        let (here, start) = (IpAddr::from([1, 2, 3, 4]), Instant::now());
        for _ in 0..4 {
            assert!(!limiter.failed(Door::Mcp, here, start));
        }
        assert!(!limiter.failed(Door::Mcp, here, start + Duration::from_secs(61)), "a new window");
        for number in 0..=u32::try_from(MOST).expect("it fits") {
            limiter.failed(Door::Mcp, IpAddr::from(number.to_be_bytes()), start);
        }
        assert!(limiter.seen.lock().unwrap().len() <= MOST);
    }
}
