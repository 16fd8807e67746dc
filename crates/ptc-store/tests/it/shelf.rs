//! Things that are kept for a short time, in memory, in a file and on a server alike.

use std::sync::Arc;

use ptc_store::Store;
use ptc_store::shelf::{NewItem, Shelf};
use serde_json::json;

use crate::support::{Rule, everywhere};

const RULES: &[Rule] = &[
    ("owners find what is theirs, until it is over", found),
    ("new things push out old ones of their owner, and the oldest of all", bounded),
    ("what is taken is taken once", taken),
];

#[test]
fn short_lived_things_are_kept_in_every_place() {
    everywhere("shelf", RULES);
}

/// Bytes of all, and things of one owner.
const ROOM: (usize, usize) = (100, 2);

fn put(shelf: &Shelf, owner: &str, id: &str, bytes: usize) {
    let (about, body) = (json!({"name": id}), vec![0; bytes]);
    shelf.put(&NewItem { id, owner, about: &about, body: &body, ttl_ms: 60_000 }, ROOM.1).expect("kept");
    // Which of two things is older is known by the millisecond.
    std::thread::sleep(std::time::Duration::from_millis(2));
}

fn ids(shelf: &Shelf, owner: &str) -> Vec<String> {
    shelf.list(owner).expect("a list").into_iter().map(|item| item.id).collect()
}

fn found(store: &Arc<Store>) {
    let (shelf, other) = (Shelf::new(store.clone(), ROOM.0), Shelf::new(store.clone(), ROOM.0));
    put(&shelf, "ann", "a", 3);
    assert_eq!(other.read("a", "ann").expect("read"), Some((json!({"name": "a"}), vec![0; 3])));
    assert_eq!(other.read("a", "bob").expect("read"), None);
    assert_eq!(other.take("a", "bob").expect("read"), None);
    put(&other, "ann", "a", 4);
    assert_eq!(shelf.read("a", "ann").expect("read").map(|(_, body)| body.len()), Some(4), "in its place");
    put(&other, "bob", "a", 5);
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
        put(&shelf, "ann", id, 10);
    }
    assert_eq!(ids(&shelf, "ann"), ["c", "b"]);
    put(&shelf, "bob", "d", 85);
    assert_eq!((ids(&shelf, "ann"), ids(&shelf, "bob")), (vec!["c".to_owned()], vec!["d".to_owned()]));
    put(&shelf, "bob", "e", 101);
    assert_eq!(ids(&shelf, "bob"), ["d"], "larger than the room");
    put(&shelf, "bob", "f", 5);
    assert_eq!(
        (ids(&shelf, "ann"), ids(&shelf, "bob").len()),
        (vec!["c".to_owned()], 2),
        "all of it is used"
    );
    put(&shelf, "eve", "g", 100);
    assert_eq!((ids(&shelf, "ann").len(), ids(&shelf, "bob").len()), (0, 0), "as large as the room");
    assert_eq!(ids(&shelf, "eve"), ["g"]);
}

fn taken(store: &Arc<Store>) {
    let shelf = Shelf::new(store.clone(), ROOM.0);
    put(&shelf, "ann", "a", 3);
    let takers: Vec<_> = (0..4)
        .map(|_| {
            let shelf = shelf.clone();
            std::thread::spawn(move || shelf.take("a", "ann").expect("asked").is_some())
        })
        .collect();
    let took = takers.into_iter().map(|taker| taker.join().expect("a thread"));
    assert_eq!(took.filter(|took| *took).count(), 1);
}
