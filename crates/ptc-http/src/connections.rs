//! Which connections are open, and which of them makes room for a new one.
//!
//! A connection is *held* while it has a request that was admitted and has arrived. All others, whether idle, in the
//! middle of a head or of a body, cost their peer next to nothing and give way to newer ones, the oldest first. So peers
//! that open connections and leave them displace each other, with a right token or without, and whoever sends a request
//! at once is answered.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

/// How many connections there may be, and how long a head may take.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Connections at a time.
    pub total: usize,
    /// Connections of one address at a time.
    pub per_address: usize,
    /// Time in which the head of a request must arrive, counted from the answer before it.
    pub head_time: Duration,
}

/// The open connections of a server.
#[derive(Debug)]
pub struct Connections {
    pub(crate) bounds: Bounds,
    table: Mutex<Table>,
}

/// Counts for those who watch the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Connections that are open.
    pub open: usize,
    /// Connections that were closed to make room.
    pub displaced: u64,
    /// Connections that found no room, because all others were held.
    pub refused: u64,
}

#[derive(Debug, Default)]
struct Table {
    next: u64,
    open: BTreeMap<u64, Open>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
    displaced: u64,
    refused: u64,
}

#[derive(Debug)]
struct Open {
    address: IpAddr,
    held: Arc<AtomicUsize>,
    leave: CancellationToken,
}

/// A connection's place. Dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    pub held: Arc<AtomicUsize>,
    /// Set when the connection has to make room.
    pub leave: CancellationToken,
}

/// An admitted request that has arrived: its connection does not make room for others until this is dropped.
#[derive(Debug)]
pub struct Hold(Arc<AtomicUsize>);

impl Hold {
    pub(crate) fn of(held: &Arc<AtomicUsize>) -> Hold {
        held.fetch_add(1, Ordering::AcqRel);
        Hold(held.clone())
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.connections.table().remove(self.number);
    }
}

/// What counts as one address: all of an IPv6 network of 64 bits belongs to one peer.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX))),
        v4 => v4,
    }
}

impl Connections {
    /// None yet.
    pub fn new(bounds: Bounds) -> Arc<Connections> {
        let bounds = Bounds { total: bounds.total.max(1), per_address: bounds.per_address.max(1), ..bounds };
        Arc::new(Connections { bounds, table: Mutex::default() })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is and what happened.
    pub fn stats(&self) -> Stats {
        let table = self.table();
        Stats { open: table.open.len(), displaced: table.displaced, refused: table.refused }
    }

    /// A place for a new connection. Where there is no room, the oldest connection that is not held makes some; if all
    /// are held, there is no place.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut table = self.table();
        let address = network(address);
        let of_address = table.by_address.get(&address).map_or(0, BTreeSet::len);
        let room = match (of_address >= self.bounds.per_address, table.open.len() >= self.bounds.total) {
            (true, _) => table.displace(address),
            (false, true) => table.displace_any(),
            (false, false) => true,
        };
        if !room {
            table.refused += 1;
            return None;
        }
        let number = table.next;
        table.next += 1;
        let (held, leave) = (Arc::<AtomicUsize>::default(), CancellationToken::new());
        table.open.insert(number, Open { address, held: held.clone(), leave: leave.clone() });
        table.by_address.entry(address).or_default().insert(number);
        Some(Place { connections: self.clone(), number, held, leave })
    }

    /// Closes a connection, if there is one that can be closed: the system has no room for another.
    pub(crate) fn make_room(&self) -> bool {
        self.table().displace_any()
    }
}

impl Table {
    fn remove(&mut self, number: u64) {
        let Some(open) = self.open.remove(&number) else { return };
        if let Some(numbers) = self.by_address.get_mut(&open.address) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_address.remove(&open.address);
            }
        }
    }

    /// Closes the oldest connection of an address that is not held.
    fn displace(&mut self, address: IpAddr) -> bool {
        let free =
            |number: &&u64| self.open.get(*number).is_some_and(|open| open.held.load(Ordering::Acquire) == 0);
        let Some(number) = self.by_address.get(&address).and_then(|all| all.iter().find(free)).copied()
        else {
            return false;
        };
        if let Some(open) = self.open.get(&number) {
            open.leave.cancel();
        }
        self.remove(number);
        self.displaced += 1;
        true
    }

    /// The same for the address with the most connections, then the next.
    fn displace_any(&mut self) -> bool {
        let mut addresses: Vec<(usize, IpAddr)> =
            self.by_address.iter().map(|(address, numbers)| (numbers.len(), *address)).collect();
        addresses.sort_unstable_by(|left, right| right.cmp(left));
        addresses.into_iter().any(|(_, address)| self.displace(address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connections(total: usize, per_address: usize) -> Arc<Connections> {
        Connections::new(Bounds { total, per_address, head_time: Duration::from_secs(1) })
    }

    fn at(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    #[test]
    fn the_oldest_connection_of_an_address_makes_room_unless_it_is_held() {
        let connections = connections(10, 3);
        let places: Vec<Place> = (0..3).filter_map(|_| connections.enter(at(1))).collect();
        let held = Hold::of(&places[0].held);
        let other = connections.enter(at(2)).expect("another address has places of its own");
        let fourth = connections.enter(at(1)).expect("the second makes room");
        let left: Vec<bool> = places.iter().map(|place| place.leave.is_cancelled()).collect();
        assert_eq!(left, [false, true, false]);
        let _all = [Hold::of(&places[2].held), Hold::of(&fourth.held)];
        assert!(connections.enter(at(1)).is_none(), "all are held");
        drop(held);
        assert!(connections.enter(at(1)).is_some());
        assert!(places[0].leave.is_cancelled() && !other.leave.is_cancelled());
        assert_eq!(connections.stats().displaced, 2);
        assert_eq!(connections.stats().refused, 1);
    }

    #[test]
    fn the_address_with_the_most_connections_makes_room_for_others() {
        let connections = connections(4, 3);
        let many: Vec<Place> = (0..3).filter_map(|_| connections.enter(at(1))).collect();
        let one = connections.enter(at(2)).expect("room");
        let new = connections.enter(at(3)).expect("room was made");
        assert!(many[0].leave.is_cancelled() && !one.leave.is_cancelled());
        assert_eq!(connections.stats().open, 4);
        drop((many, one, new));
        assert_eq!(connections.stats().open, 0);
        assert!(connections.table().by_address.is_empty());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let parsed = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(parsed("2001:db8::1"), parsed("2001:db8::ffff:1"));
        assert_ne!(parsed("2001:db8::1"), parsed("2001:db8:0:1::1"));
        assert_eq!(parsed("::ffff:10.0.0.1"), parsed("10.0.0.1"));
    }
}
