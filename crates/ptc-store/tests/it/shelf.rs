//! Things that are kept for a short time, in memory, in a file and on a server alike.

use std::sync::Arc;

use ptc_store::Store;
use ptc_store::shelf::{NewItem, Shelf};
use serde_json::json;

use crate::support::{Rule, everywhere, next_moment};

const RULES: &[Rule] = &[
    ("owners find what is theirs, until it is over", found),
    ("new things push out old ones of their owner, and of whoever has most", bounded),
    ("what others keep is not pushed out by an owner who has more", shared),
    ("what is taken is taken once", taken),
];

#[test]
fn short_lived_things_are_kept_in_every_place() {
    everywhere("shelf", RULES);
}

/// Bytes of all, and things of one owner.
const ROOM: (usize, usize) = (100, 2);

/// Puts something there that is newer than all before.
fn put(store: &Arc<Store>, owner: &str, id: &str, bytes: usize) {
    next_moment(store);
    let (about, body) = (json!({"name": id}), vec![0; bytes]);
    let new = NewItem { id, owner, about: &about, body: &body, ttl_ms: 60_000 };
    Shelf::new(store.clone(), ROOM.0).put(&new, ROOM.1).expect("kept");
}

fn ids(shelf: &Shelf, owner: &str) -> Vec<String> {
    shelf.list(owner).expect("a list").into_iter().map(|item| item.id).collect()
}

fn found(store: &Arc<Store>) {
    let (shelf, other) = (Shelf::new(store.clone(), ROOM.0), Shelf::new(store.clone(), ROOM.0));
    put(store, "ann", "a", 3);
    assert_eq!(other.read("a", "ann").expect("read"), Some((json!({"name": "a"}), vec![0; 3])));
    assert_eq!(other.read("a", "bob").expect("read"), None);
    assert_eq!(other.take("a", "bob").expect("read"), None);
    put(store, "ann", "a", 4);
    assert_eq!(shelf.read("a", "ann").expect("read").map(|(_, body)| body.len()), Some(4), "in its place");
    put(store, "bob", "a", 5);
    assert_eq!(
        shelf.read("a", "ann").expect("read").map(|(_, body)| body.len()),
        Some(4),
        "of another owner"
    );
    let gone = NewItem { id: "b", owner: "ann", about: &json!(null), body: b"x", ttl_ms: 0 };
    shelf.put(&gone, ROOM.1).expect("kept");
    assert_eq!((shelf.read("b", "ann").expect("read"), ids(&shelf, "ann")), (None, vec!["a".to_owned()]));
    for key in ["", "\0"] {
        shelf.put(&NewItem { id: key, ..gone }, ROOM.1).expect("refused without a word");
    }
}

fn bounded(store: &Arc<Store>) {
    let shelf = Shelf::new(store.clone(), ROOM.0);
    for id in ["a", "b", "c"] {
        put(store, "ann", id, 10);
    }
    assert_eq!(ids(&shelf, "ann"), ["c", "b"]);
    put(store, "bob", "d", 85);
    assert_eq!((ids(&shelf, "ann"), ids(&shelf, "bob")), (vec!["c".to_owned()], vec!["d".to_owned()]));
    put(store, "bob", "e", 101);
    assert_eq!(ids(&shelf, "bob"), ["d"], "larger than the room");
    put(store, "bob", "f", 5);
    assert_eq!(
        (ids(&shelf, "ann"), ids(&shelf, "bob").len()),
        (vec!["c".to_owned()], 2),
        "all of it is used"
    );
    put(store, "eve", "g", 100);
    assert_eq!((ids(&shelf, "ann").len(), ids(&shelf, "bob").len()), (0, 0), "as large as the room");
    assert_eq!(ids(&shelf, "eve"), ["g"]);
}

fn shared(store: &Arc<Store>) {
    let shelf = Shelf::new(store.clone(), ROOM.0);
    put(store, "ann", "a", 30);
    put(store, "bob", "b", 60);
    put(store, "bob", "c", 60);
    assert_eq!((ids(&shelf, "ann").len(), ids(&shelf, "bob")), (1, vec!["c".to_owned()]));
    put(store, "eve", "d", 40);
    assert_eq!((ids(&shelf, "ann").len(), ids(&shelf, "bob").len(), ids(&shelf, "eve").len()), (1, 0, 1));
    put(store, "ann", "e", 40);
    put(store, "eve", "f", 30);
    assert_eq!(
        (ids(&shelf, "ann"), ids(&shelf, "eve")),
        (vec!["e".to_owned()], vec!["f".to_owned()]),
        "of equals"
    );
}

fn taken(store: &Arc<Store>) {
    let shelf = Shelf::new(store.clone(), ROOM.0);
    put(store, "ann", "a", 3);
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let shelf = shelf.clone();
            std::thread::spawn(move || shelf.take("a", "ann").expect("asked").is_some())
        })
        .collect();
    let took = takers.into_iter().map(|taker| taker.join().expect("a thread"));
    assert_eq!(took.filter(|took| *took).count(), 1);
}
