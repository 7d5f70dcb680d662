// SPDX-License-Identifier: Apache-2.0
//! What Rust's library allocates. Each kind has blocks of a size of its own; prints
//! "made SIZE BLOCKS TYPE" for it, TYPE without its path.
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::mem::size_of;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

#[derive(Clone)]
pub struct Point([f64; 3]);
pub struct Big([u64; 101]);
pub struct Node([u64; 103]);
pub struct Shared([u64; 107]);
pub struct Key(u64);
pub struct Square([u64; 109]);
pub trait Shape {
    fn area(&self) -> u64;
}
impl Shape for Square {
    fn area(&self) -> u64 {
        self.0[0]
    }
}

/// The optimizer must not know what becomes of the value.
#[inline(never)]
fn black_box<T>(value: T) -> T {
    let seen = unsafe { std::ptr::read_volatile(&value) };
    std::mem::forget(value);
    seen
}

#[inline(never)]
fn points(count: usize) -> Vec<Point> {
    let mut made = Vec::with_capacity(count);
    made.push(Point([1.0; 3]));
    made
}

#[inline(never)]
fn growing(count: u32) -> Vec<(u64, u32)> {
    let mut made = Vec::new();
    for i in 0..count {
        made.push((7, i));
    }
    made
}

#[inline(never)]
fn boxed(value: u64) -> Box<Big> {
    Box::new(Big([value; 101]))
}

#[inline(never)]
fn counted(value: u64) -> Rc<RefCell<Node>> {
    Rc::new(RefCell::new(Node([value; 103])))
}

#[inline(never)]
fn shared(value: u64) -> Arc<Mutex<Shared>> {
    Arc::new(Mutex::new(Shared([value; 107])))
}

#[inline(never)]
fn shape(value: u64) -> Box<dyn Shape> {
    Box::new(Square([value; 109]))
}

#[inline(never)]
fn text(length: usize) -> String {
    String::with_capacity(length)
}

#[inline(never)]
fn deque(length: usize) -> VecDeque<i16> {
    VecDeque::with_capacity(length)
}

#[inline(never)]
fn map(count: u64) -> HashMap<u64, Point> {
    let mut made = HashMap::new();
    for i in 0..count {
        made.insert(i, Point([2.0; 3]));
    }
    made
}

#[inline(never)]
fn tree(count: u64) -> BTreeMap<u64, Key> {
    let mut made = BTreeMap::new();
    for i in 0..count {
        made.insert(i, Key(i));
    }
    made
}

fn main() {
    for i in 0..4 {
        black_box(points(1009));
        black_box(boxed(i));
        black_box(counted(i).borrow().0[0]);
        black_box(shared(i).lock().unwrap().0[0]);
        black_box(shape(i).area());
        black_box(text(30011));
        black_box(deque(8192));
    }
    black_box(growing(4096));
    black_box(map(1000).len());
    black_box(tree(3).len());
    println!("made {} 4 Point", 1009 * size_of::<Point>());
    println!("made {} 4 Big", size_of::<Big>());
    println!("made {} 4 Inner<RefCell<Node>>", 2 * 8 + size_of::<RefCell<Node>>());
    println!("made {} 4 Inner<Mutex<Shared>>", 2 * 8 + size_of::<Mutex<Shared>>());
    println!("made {} 4 Square", size_of::<Square>());
    println!("made 30011 4 u8");
    println!("made {} 1 (u64, u32)", 4096 * size_of::<(u64, u32)>());
}
