//! Which connections are open, and which of them makes room for a new one.
//!
//! A connection is *held* while it has a request that was admitted and has arrived. All others, whether idle, in the
//! middle of a head or of a body, or with an answer that is not read, cost their peer next to nothing and give way to newer
//! ones, the oldest first. So peers that open connections and leave them displace each other, with a right token or without,
//! and whoever sends a request at once is answered.
//!
//! A connection *rests* while its request only waits for something to be told, as a subscription does. It gives way only
//! where none of the others is left, and then one of the owner who has the most of them.
//!
//! What an owner holds is bounded as room is ([`Room`]): by as much as it leaves free. So not all are ever held, and there is
//! always a place for somebody else.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::room::{Full, Room};

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

#[derive(Debug)]
struct Table {
    next: u64,
    open: BTreeMap<u64, Open>,
    by_address: HashMap<IpAddr, BTreeSet<u64>>,
    holds: Holds,
    displaced: u64,
    refused: u64,
}

#[derive(Debug)]
struct Open {
    address: IpAddr,
    held: Arc<AtomicUsize>,
    /// Whose request it has that only waits.
    rests: Option<Arc<str>>,
    leave: CancellationToken,
}

/// How many connections owners hold: in all, and of each address.
#[derive(Debug)]
struct Holds {
    all: Room,
    per_address: usize,
    by_address: HashMap<IpAddr, Room>,
}

/// Which connections make room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// Those without a request.
    Free,
    /// Those whose request only waits.
    Resting,
}

const WAYS: [Way; 2] = [Way::Free, Way::Resting];

/// A connection's place. Dropping it gives the place back.
#[derive(Debug)]
pub(crate) struct Place {
    connections: Arc<Connections>,
    number: u64,
    held: Arc<AtomicUsize>,
    /// Set when the connection has to make room.
    pub leave: CancellationToken,
}

/// An admitted request that has arrived: its connection does not make room for others until this is dropped.
#[derive(Debug)]
pub struct Hold {
    held: Arc<AtomicUsize>,
    counted: Option<CountedHold>,
}

/// What a hold counts for with its owner.
#[derive(Debug)]
struct CountedHold {
    connections: Arc<Connections>,
    address: IpAddr,
    owner: Arc<str>,
}

impl Hold {
    fn of(held: &Arc<AtomicUsize>, counted: Option<CountedHold>) -> Hold {
        held.fetch_add(1, Ordering::AcqRel);
        Hold { held: held.clone(), counted }
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.held.fetch_sub(1, Ordering::AcqRel);
        if let Some(CountedHold { connections, address, owner }) = &self.counted {
            connections.table().holds.give_back(*address, owner);
        }
    }
}

/// An admitted request that only waits, until this is dropped.
#[derive(Debug)]
pub struct Rest {
    connections: Arc<Connections>,
    number: u64,
}

impl Drop for Rest {
    fn drop(&mut self) {
        self.connections.table().rest(self.number, None);
    }
}

/// Where a request came from; every request carries it as an extension.
#[derive(Clone, Debug)]
pub struct Peer {
    /// The address at the other end of the connection.
    pub address: IpAddr,
    connections: Arc<Connections>,
    number: u64,
    held: Arc<AtomicUsize>,
}

impl Peer {
    /// Keeps the connection from making room for others, for a request that was admitted and has arrived.
    pub fn hold(&self) -> Hold {
        Hold::of(&self.held, None)
    }

    /// The same for a request of an owner, unless that holds as many connections as it may.
    pub fn hold_for(&self, owner: &Arc<str>) -> Result<Hold, Full> {
        let (connections, address) = (self.connections.clone(), network(self.address));
        connections.table().holds.take(address, owner)?;
        Ok(Hold::of(&self.held, Some(CountedHold { connections, address, owner: owner.clone() })))
    }

    /// Lets the connection make room only where no other is left, for a request of an owner that only waits.
    pub fn rest(&self, owner: &Arc<str>) -> Rest {
        self.connections.table().rest(self.number, Some(owner.clone()));
        Rest { connections: self.connections.clone(), number: self.number }
    }
}

impl Place {
    /// What requests carry.
    pub fn peer(&self, address: IpAddr) -> Peer {
        let (connections, number) = (self.connections.clone(), self.number);
        Peer { address, connections, number, held: self.held.clone() }
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
        // One of two may be held.
        let bounds = Bounds { total: bounds.total.max(2), per_address: bounds.per_address.max(2), ..bounds };
        Arc::new(Connections { bounds, table: Mutex::new(Table::new(bounds)) })
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is and what happened.
    pub fn stats(&self) -> Stats {
        let table = self.table();
        Stats { open: table.open.len(), displaced: table.displaced, refused: table.refused }
    }

    /// A place for a new connection. Where there is no room, another connection makes some; if all are held, there is no
    /// place.
    pub(crate) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Place> {
        let mut table = self.table();
        let address = network(address);
        let of_address = table.by_address.get(&address).map_or(0, BTreeSet::len);
        let room = match (of_address >= self.bounds.per_address, table.open.len() >= self.bounds.total) {
            (true, _) => WAYS.into_iter().any(|way| table.displace(address, way)),
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
        table.open.insert(number, Open { address, held: held.clone(), rests: None, leave: leave.clone() });
        table.by_address.entry(address).or_default().insert(number);
        Some(Place { connections: self.clone(), number, held, leave })
    }

    /// Closes a connection, if there is one that can be closed: the system has no room for another.
    pub(crate) fn make_room(&self) -> bool {
        self.table().displace_any()
    }
}

impl Holds {
    fn take(&mut self, address: IpAddr, owner: &Arc<str>) -> Result<(), Full> {
        self.all.take(owner, 1)?;
        let here = self.by_address.entry(address).or_insert_with(|| Room::new(self.per_address));
        here.take(owner, 1).inspect_err(|_| self.all.give_back(owner, 1))
    }

    fn give_back(&mut self, address: IpAddr, owner: &str) {
        self.all.give_back(owner, 1);
        if let Some(here) = self.by_address.get_mut(&address) {
            here.give_back(owner, 1);
            if here.is_free() {
                self.by_address.remove(&address);
            }
        }
    }
}

impl Table {
    fn new(bounds: Bounds) -> Table {
        let (all, per_address) = (Room::new(bounds.total), bounds.per_address);
        let holds = Holds { all, per_address, by_address: HashMap::new() };
        let (open, by_address) = (BTreeMap::new(), HashMap::new());
        Table { next: 0, open, by_address, holds, displaced: 0, refused: 0 }
    }

    fn rest(&mut self, number: u64, owner: Option<Arc<str>>) {
        if let Some(open) = self.open.get_mut(&number) {
            open.rests = owner;
        }
    }

    fn remove(&mut self, number: u64) {
        let Some(open) = self.open.remove(&number) else { return };
        if let Some(numbers) = self.by_address.get_mut(&open.address) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_address.remove(&open.address);
            }
        }
    }

    /// Closes a connection of an address, if one makes room this way.
    fn displace(&mut self, address: IpAddr, way: Way) -> bool {
        let Some(number) = self.first(address, way) else { return false };
        if let Some(open) = self.open.get(&number) {
            open.leave.cancel();
        }
        self.remove(number);
        self.displaced += 1;
        true
    }

    /// The oldest connection of an address that makes room this way; of those that rest, the oldest of whoever has the most.
    fn first(&self, address: IpAddr, way: Way) -> Option<u64> {
        let numbers = self.by_address.get(&address)?.iter();
        let all = numbers.filter_map(|number| Some((*number, self.open.get(number)?)));
        let mut unheld = all.filter(|(_, open)| open.held.load(Ordering::Acquire) == 0);
        if way == Way::Free {
            return unheld.find(|(_, open)| open.rests.is_none()).map(|(number, _)| number);
        }
        let mut resting = BTreeMap::<&str, (usize, u64)>::new();
        for (number, open) in unheld {
            if let Some(owner) = &open.rests {
                resting.entry(owner).or_insert((0, number)).0 += 1;
            }
        }
        resting.into_values().max_by_key(|(count, _)| *count).map(|(_, oldest)| oldest)
    }

    /// The same for the address with the most connections, then the next.
    fn displace_any(&mut self) -> bool {
        let mut addresses: Vec<(usize, IpAddr)> =
            self.by_address.iter().map(|(address, numbers)| (numbers.len(), *address)).collect();
        addresses.sort_unstable_by(|left, right| right.cmp(left));
        WAYS.into_iter().any(|way| addresses.iter().any(|(_, address)| self.displace(*address, way)))
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
        let hold = |place: &Place| place.peer(at(1)).hold();
        let held = hold(&places[0]);
        let other = connections.enter(at(2)).expect("another address has places of its own");
        let fourth = connections.enter(at(1)).expect("the second makes room");
        let left: Vec<bool> = places.iter().map(|place| place.leave.is_cancelled()).collect();
        assert_eq!(left, [false, true, false]);
        let _all = [hold(&places[2]), hold(&fourth)];
        assert!(connections.enter(at(1)).is_none(), "all are held");
        drop(held);
        assert!(connections.enter(at(1)).is_some());
        assert!(places[0].leave.is_cancelled() && !other.leave.is_cancelled());
        assert_eq!(connections.stats().displaced, 2);
        assert_eq!(connections.stats().refused, 1);
    }

    #[test]
    fn an_owner_holds_as_many_connections_as_it_leaves_free() {
        let connections = connections(20, 8);
        let places: Vec<Place> = (0..8).filter_map(|_| connections.enter(at(1))).collect();
        let held_by = |owner: &str| {
            let owner = owner.into();
            places.iter().map_while(|place| place.peer(at(1)).hold_for(&owner).ok()).collect::<Vec<Hold>>()
        };
        let (first, second, third) = (held_by("a"), held_by("b"), held_by("c"));
        assert_eq!([first.len(), second.len(), third.len()], [4, 2, 1]);
        let elsewhere = connections.enter(at(2)).expect("a place").peer(at(2)).hold_for(&"a".into());
        assert!(elsewhere.is_ok(), "another address has connections of its own");
        drop((first, elsewhere));
        assert_eq!(held_by("c").len(), 2, "what is left is shared anew");
        drop((second, third));
        let table = connections.table();
        assert!(table.holds.all.is_free() && table.holds.by_address.is_empty(), "nothing is lost");
    }

    #[test]
    fn connections_that_rest_make_room_last_and_those_of_whoever_has_the_most_first() {
        let connections = connections(10, 4);
        let places: Vec<Place> = (0..4).filter_map(|_| connections.enter(at(1))).collect();
        let rest = |place: &Place, owner: &str| place.peer(at(1)).rest(&owner.into());
        let rests = [rest(&places[0], "b"), rest(&places[1], "a"), rest(&places[2], "a")];
        let gone = || places.iter().map(|place| place.leave.is_cancelled()).collect::<Vec<bool>>();
        let next = connections.enter(at(1)).expect("one is free");
        assert_eq!(gone(), [false, false, false, true]);
        let _held = next.peer(at(1)).hold();
        let more = connections.enter(at(1)).expect("one of the two makes room");
        assert_eq!(gone(), [false, true, false, true]);
        let _held = more.peer(at(1)).hold();
        drop(rests);
        assert!(connections.enter(at(1)).is_some(), "the oldest does");
        assert_eq!(gone(), [true, true, false, true]);
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
