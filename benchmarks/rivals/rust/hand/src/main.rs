//! Hand-written DIVM: FxHashMap indexes on the base tables, nested loops along the join path, each diff's view tuples
//! pushed into one reused buffer which a sink then reads. This is the practical limit for a row-at-a-time engine.
mod asked;
use common::drive::*;
use common::*;
use rustc_hash::{FxHashMap, FxHashSet};
use std::hint::black_box;

/// nested loops over one index: columns $p, then the next key is the value just bound
macro_rules! nest {
    ($i:expr, $row:ident, $buf:ident, $k:expr; $p:literal) => {
        if let Some(v) = $i.get(&$k) { for x in v { $row[$p] = *x; $buf.push($row) } }
    };
    ($i:expr, $row:ident, $buf:ident, $k:expr; $p:literal $($q:literal)+) => {
        if let Some(v) = $i.get(&$k) { for x in v { $row[$p] = *x; nest!($i, $row, $buf, *x; $($q)+) } }
    };
}

/// q3's view rows with their sign, and the three tables as churn needs them: by each join attribute.
#[derive(Default)]
struct Q3 {
    f: Idx<i64>,
    t: Idx<i64>,
    tu: Idx<i64>,
    r: Idx<[i64; 2]>,
    buf: Vec<([i64; 4], i64)>,
}

/// Removes one `v` from the list of `k`; the last of the list takes its place.
fn cut<T: PartialEq>(m: &mut Idx<T>, k: i64, v: T) {
    let list = m.get_mut(&k).expect("a row that is there");
    let at = list.iter().position(|x| *x == v).expect("a row that is there");
    list.swap_remove(at);
    if list.is_empty() {
        m.remove(&k);
    }
}

impl Q3 {
    fn insert(&mut self, table: usize, x: Row) {
        match table {
            0 => put(&mut self.f, x[1], x[2]),
            1 => {
                put(&mut self.t, x[0], x[1]);
                put(&mut self.tu, x[1], x[0])
            }
            _ => put(&mut self.r, x[0], [x[2], x[1]]),
        }
    }
    fn delete(&mut self, table: usize, x: Row) {
        match table {
            0 => cut(&mut self.f, x[1], x[2]),
            1 => {
                cut(&mut self.t, x[0], x[1]);
                cut(&mut self.tu, x[1], x[0])
            }
            _ => cut(&mut self.r, x[0], [x[2], x[1]]),
        }
    }
    /// Pushes the view rows that one row of a table takes part in.
    fn emit(&mut self, table: usize, x: Row, m: i64) {
        let Q3 { f, t, tu, r, buf } = self;
        match table {
            0 => {
                if let Some(ts) = t.get(&x[1]) {
                    for tid in ts {
                        if let Some(rs) = r.get(tid) {
                            for z in rs {
                                buf.push(([x[2], *tid, z[0], z[1]], m))
                            }
                        }
                    }
                }
            }
            1 => {
                if let (Some(fs), Some(rs)) = (f.get(&x[0]), r.get(&x[1])) {
                    for y in fs {
                        for z in rs {
                            buf.push(([*y, x[1], z[0], z[1]], m))
                        }
                    }
                }
            }
            _ => {
                if let Some(us) = tu.get(&x[0]) {
                    for u in us {
                        if let Some(fs) = f.get(u) {
                            for y in fs {
                                buf.push(([*y, x[0], x[2], x[1]], m))
                            }
                        }
                    }
                }
            }
        }
    }
    /// An update that leaves the join attributes alone: one walk, both rows, the value in its place.
    fn change(&mut self, table: usize, pre: Row, post: Row) {
        let Q3 { f, t, tu, r, buf } = self;
        match table {
            0 => {
                let list = f.get_mut(&pre[1]).expect("a row that is there");
                *list.iter_mut().find(|y| **y == pre[2]).expect("a row that is there") = post[2];
                if let Some(ts) = t.get(&pre[1]) {
                    for tid in ts {
                        if let Some(rs) = r.get(tid) {
                            for z in rs {
                                buf.push(([pre[2], *tid, z[0], z[1]], -1));
                                buf.push(([post[2], *tid, z[0], z[1]], 1));
                            }
                        }
                    }
                }
            }
            _ => {
                let (old, new) = ([pre[2], pre[1]], [post[2], post[1]]);
                let list = r.get_mut(&pre[0]).expect("a row that is there");
                *list.iter_mut().find(|z| **z == old).expect("a row that is there") = new;
                if let Some(us) = tu.get(&pre[0]) {
                    for u in us {
                        if let Some(fs) = f.get(u) {
                            for y in fs {
                                buf.push(([*y, pre[0], old[0], old[1]], -1));
                                buf.push(([*y, pre[0], new[0], new[1]], 1));
                            }
                        }
                    }
                }
            }
        }
    }
    fn apply(&mut self, table: usize, diff: &Diff) {
        match *diff {
            Diff::Insert(x) => {
                self.insert(table, x);
                self.emit(table, x, 1)
            }
            Diff::Delete(x) => {
                self.emit(table, x, -1);
                self.delete(table, x)
            }
            Diff::Update(pre, post) => {
                let key = if table == 0 { 1 } else { 0 };
                if table != 1 && pre[key] == post[key] {
                    return self.change(table, pre, post);
                }
                self.emit(table, pre, -1);
                self.delete(table, pre);
                self.insert(table, post);
                self.emit(table, post, 1);
            }
        }
    }
}

fn churn(a: &Args, tables: &[Vec<Row>], changes: &[(usize, Diff)], mut b: Bench) -> Ran {
    let mut q = Q3::default();
    for (table, rows) in tables.iter().enumerate() {
        for x in rows {
            q.insert(table, *x)
        }
    }
    let n = changes.len().min(a.max);
    let tenth = n / 10;
    let (mut o, mut done) = (Out::default(), 0);
    b.loaded();
    for chunk in changes[..n].chunks(a.batch) {
        q.buf.clear();
        for (table, diff) in chunk {
            q.apply(*table, diff)
        }
        for (r, m) in &q.buf {
            o.row(r, *m)
        }
        done += chunk.len();
        if tenth > 0 && done % tenth < chunk.len() {
            b.mark(done)
        }
    }
    let s = b.run_s();
    b.ran((n, n), s, o)
}

fn main() {
    let a = args();
    let data = load(&a);
    report("hand", &a, repeated(&a, || run(&a, &data)))
}

/// Fills fresh tables, which is timed by itself, and applies the diffs.
fn run(a: &Args, Data { tables, diffs, changes }: &Data) -> Ran {
    let b = Bench::start();
    let mut tb = tables.iter();
    match a.w {
        W::Fanout(_) => {
            let mut f: Idx<i64> = Idx::default();
            let mut t: Idx<[i64; 2]> = Idx::default();
            for r in tb.next().unwrap() {
                put(&mut f, r[1], r[2])
            }
            for r in tb.next().unwrap() {
                put(&mut t, r[0], [r[1], r[2]])
            }
            drive::<4>(a, diffs, b, |_, r, buf| {
                put(&mut t, r[0], [r[1], r[2]]);
                if let Some(v) = f.get(&r[0]) {
                    for x in v {
                        buf.push([*x, r[0], r[1], r[2]])
                    }
                }
            })
        }
        W::ChainF(k) => {
            let mut u: FxHashSet<i64> = FxHashSet::default();
            let (mut t, mut f, mut fr): (Idx<i64>, Idx<i64>, Idx<i64>) = Default::default();
            for r in tb.next().unwrap() {
                u.insert(r[1]);
            }
            for r in tb.next().unwrap() {
                put(&mut t, r[0], r[2])
            }
            for r in tb.next().unwrap() {
                put(&mut f, r[0], r[1]);
                put(&mut fr, r[1], r[0])
            } // fr: for follower diffs
            macro_rules! go { ($c:literal; $($p:literal)+) => {
                drive::<$c>(a, diffs, b, |_, r, buf| {
                    put(&mut t, r[0], r[2]);
                    if u.contains(&r[0]) { let mut row = [r[2]; $c]; nest!(f, row, buf, r[1]; $($p)+) }
                })
            } }
            let ran = match k {
                2 => go!(2; 1),
                3 => go!(3; 1 2),
                4 => go!(4; 1 2 3),
                5 => go!(5; 1 2 3 4),
                _ => panic!("k 2..5"),
            };
            black_box(&fr);
            ran
        }
        W::ChainR(k) => {
            // forward: user -> tweets, tweet -> retweets; the other maps serve tweet and retweet diffs
            let (mut f, mut t, mut tu, mut rt, mut rr): (
                Idx<i64>,
                Idx<i64>,
                Idx<i64>,
                Idx<i64>,
                Idx<i64>,
            ) = Default::default();
            for r in tb.next().unwrap() {
                put(&mut f, r[1], r[2])
            }
            for r in tb.next().unwrap() {
                put(&mut t, r[0], r[1]);
                put(&mut tu, r[1], r[0])
            }
            for r in tb.next().unwrap() {
                put(&mut rt, r[0], r[1]);
                put(&mut rr, r[1], r[0])
            }
            macro_rules! go { ($c:literal; $($p:literal)+) => {
                drive::<$c>(a, diffs, b, |_, r, buf| {
                    put(&mut f, r[1], r[2]);
                    let mut row = [r[2]; $c];
                    if let Some(v) = t.get(&r[1]) { for tid in v { row[1] = *tid; nest!(rt, row, buf, *tid; $($p)+) } }
                })
            } }
            let ran = match k {
                2 => go!(3; 2),
                3 => go!(4; 2 3),
                4 => go!(5; 2 3 4),
                5 => go!(6; 2 3 4 5),
                _ => panic!("k 2..5"),
            };
            black_box((&tu, &rr));
            ran
        }
        W::Q(1, agg) => {
            let (mut f, mut t): (Idx<i64>, Idx<i64>) = Default::default();
            for r in tb.next().unwrap() {
                put(&mut f, r[1], r[2])
            }
            for r in tb.next().unwrap() {
                put(&mut t, r[0], r[1])
            }
            if !agg {
                drive::<2>(a, diffs, b, |_, r, buf| {
                    put(&mut t, r[0], r[1]);
                    if let Some(v) = f.get(&r[0]) {
                        for x in v {
                            buf.push([*x, r[1]])
                        }
                    }
                })
            } else {
                let mut cnt = FxHashMap::default();
                let mut nt: FxHashMap<i64, i64> = FxHashMap::default(); // tweets per user, for follower diffs
                for (u, v) in &t {
                    nt.insert(*u, v.len() as i64);
                    if let Some(fs) = f.get(u) {
                        for x in fs {
                            *cnt.entry(*x).or_insert(0) += v.len() as i64
                        }
                    }
                }
                drop(t);
                drive_agg(a, diffs, b, cnt, |_, r, emit| {
                    *nt.entry(r[0]).or_insert(0) += 1;
                    if let Some(v) = f.get(&r[0]) {
                        for x in v {
                            emit(*x, 1)
                        }
                    }
                })
            }
        }
        W::Q(2, agg) => {
            let (mut t, mut r): (Idx<i64>, Idx<[i64; 2]>) = Default::default();
            for x in tb.next().unwrap() {
                put(&mut t, x[1], x[2])
            }
            for x in tb.next().unwrap() {
                put(&mut r, x[0], [x[2], x[1]])
            }
            if !agg {
                drive::<4>(a, diffs, b, |tab, x, buf| {
                    if tab == 0 {
                        put(&mut t, x[1], x[2]);
                        if let Some(v) = r.get(&x[1]) {
                            for y in v {
                                buf.push([x[2], x[1], y[0], y[1]])
                            }
                        }
                    } else {
                        put(&mut r, x[0], [x[2], x[1]]);
                        if let Some(v) = t.get(&x[0]) {
                            for u in v {
                                buf.push([*u, x[0], x[2], x[1]])
                            }
                        }
                    }
                })
            } else {
                let mut cnt = FxHashMap::default();
                let mut nr: FxHashMap<i64, i64> =
                    r.iter().map(|(k, v)| (*k, v.len() as i64)).collect();
                drop(r);
                for (tid, us) in &t {
                    if let Some(m) = nr.get(tid) {
                        for u in us {
                            *cnt.entry(*u).or_insert(0) += m
                        }
                    }
                }
                drive_agg(a, diffs, b, cnt, |tab, x, emit| {
                    if tab == 0 {
                        put(&mut t, x[1], x[2]);
                        if let Some(m) = nr.get(&x[1]) {
                            emit(x[2], *m)
                        }
                    } else {
                        *nr.entry(x[0]).or_insert(0) += 1;
                        if let Some(v) = t.get(&x[0]) {
                            for u in v {
                                emit(*u, 1)
                            }
                        }
                    }
                })
            }
        }
        W::Q(3, agg) => {
            let (mut f, mut t, mut tu, mut r): (Idx<i64>, Idx<i64>, Idx<i64>, Idx<[i64; 2]>) =
                Default::default();
            for x in tb.next().unwrap() {
                put(&mut f, x[1], x[2])
            }
            for x in tb.next().unwrap() {
                put(&mut t, x[0], x[1]);
                put(&mut tu, x[1], x[0])
            } // t: for follower diffs
            for x in tb.next().unwrap() {
                put(&mut r, x[0], [x[2], x[1]])
            }
            if !agg {
                drive::<4>(a, diffs, b, |tab, x, buf| {
                    if tab == 1 {
                        put(&mut t, x[0], x[1]);
                        put(&mut tu, x[1], x[0]);
                        if let (Some(fs), Some(rs)) = (f.get(&x[0]), r.get(&x[1])) {
                            for y in fs {
                                for z in rs {
                                    buf.push([*y, x[1], z[0], z[1]])
                                }
                            }
                        }
                    } else {
                        put(&mut r, x[0], [x[2], x[1]]);
                        if let Some(us) = tu.get(&x[0]) {
                            for u in us {
                                if let Some(fs) = f.get(u) {
                                    for y in fs {
                                        buf.push([*y, x[0], x[2], x[1]])
                                    }
                                }
                            }
                        }
                    }
                })
            } else {
                let mut cnt = FxHashMap::default();
                let mut nr: FxHashMap<i64, i64> =
                    r.iter().map(|(k, v)| (*k, v.len() as i64)).collect();
                drop(r);
                for (tid, us) in &tu {
                    if let Some(m) = nr.get(tid) {
                        for u in us {
                            if let Some(fs) = f.get(u) {
                                for y in fs {
                                    *cnt.entry(*y).or_insert(0) += m
                                }
                            }
                        }
                    }
                }
                drive_agg(a, diffs, b, cnt, |tab, x, emit| {
                    if tab == 1 {
                        put(&mut t, x[0], x[1]);
                        put(&mut tu, x[1], x[0]);
                        if let (Some(fs), Some(m)) = (f.get(&x[0]), nr.get(&x[1])) {
                            for y in fs {
                                emit(*y, *m)
                            }
                        }
                    } else {
                        *nr.entry(x[0]).or_insert(0) += 1;
                        if let Some(us) = tu.get(&x[0]) {
                            for u in us {
                                if let Some(fs) = f.get(u) {
                                    for y in fs {
                                        emit(*y, 1)
                                    }
                                }
                            }
                        }
                    }
                })
            }
        }
        W::Churn => churn(a, tables, changes, b),
        W::Asked(2, is) => asked::q2(a, is, tables, diffs, b),
        W::Asked(3, is) => asked::q3(a, is, tables, diffs, b),
        _ => panic!("unknown"),
    }
}
