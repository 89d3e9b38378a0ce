//! Two ways to keep more than the base tables, so that a diff looks up what others join again.
//!
//! --variant maps (default): as DBToaster does. The delta query of each table is a map from what it is asked by to
//! what it sums up, kept by its own delta queries in turn; the result is a map as well. Inner keys have a count.
//!     q3agg   result[f] = sum over F(u,f) T(u,t) R(t)        dR: result[f] += ft[t][f]      ft[t][f] = sum F T
//!                                                           dF: result[f] += tr[u]         tr[u]    = sum T R
//!                                                           dT: result[f] += f[u][f] * r[t]
//! --variant views: auxiliary views, as relations. Besides the base tables there is a table for each join of
//! neighbours, F T by tweet and T R by user, which the diffs of the third table join. A view of one join has none.
use common::drive::*;
use common::*;
use rustc_hash::FxHashMap;

/// outer key -> inner key -> count
type Maps<K> = FxHashMap<i64, FxHashMap<K, i64>>;
type Counts = FxHashMap<i64, i64>;
type Emit<'e> = &'e mut dyn FnMut(i64, i64);

fn add<K: std::hash::Hash + Eq>(m: &mut Maps<K>, outer: i64, inner: K, n: i64) {
    *m.entry(outer).or_default().entry(inner).or_insert(0) += n
}

/// A view that counts by group: takes a row of a table, emits (group, change).
trait Counting: Default {
    fn insert(&mut self, table: usize, r: &Row, emit: Emit);
}

#[derive(Default)]
struct Maps1 {
    f: Maps<i64>,
    t: Counts,
}
impl Counting for Maps1 {
    fn insert(&mut self, table: usize, r: &Row, emit: Emit) {
        if table == 0 {
            let (u, x) = (r[1], r[2]);
            if let Some(n) = self.t.get(&u) {
                emit(x, *n)
            }
            add(&mut self.f, u, x, 1);
        } else {
            for (x, n) in self.f.get(&r[0]).into_iter().flatten() {
                emit(*x, *n)
            }
            *self.t.entry(r[0]).or_insert(0) += 1;
        }
    }
}

#[derive(Default)]
struct Maps2 {
    t: Maps<i64>,
    r: Counts,
}
impl Counting for Maps2 {
    fn insert(&mut self, table: usize, r: &Row, emit: Emit) {
        if table == 0 {
            if let Some(n) = self.r.get(&r[1]) {
                emit(r[2], *n)
            }
            add(&mut self.t, r[1], r[2], 1);
        } else {
            for (u, n) in self.t.get(&r[0]).into_iter().flatten() {
                emit(*u, *n)
            }
            *self.r.entry(r[0]).or_insert(0) += 1;
        }
    }
}

#[derive(Default)]
struct Maps3 {
    f: Maps<i64>,
    t: Maps<i64>,
    tu: Maps<i64>,
    r: Counts,
    ft: Maps<i64>,
    tr: Counts,
}
impl Counting for Maps3 {
    fn insert(&mut self, table: usize, row: &Row, emit: Emit) {
        let Maps3 { f, t, tu, r, ft, tr } = self;
        match table {
            0 => {
                let (u, x) = (row[1], row[2]);
                if let Some(n) = tr.get(&u) {
                    emit(x, *n)
                }
                for (tid, n) in t.get(&u).into_iter().flatten() {
                    add(ft, *tid, x, *n)
                }
                add(f, u, x, 1)
            }
            1 => {
                let (u, tid) = (row[0], row[1]);
                let m = r.get(&tid).copied();
                if let Some(fs) = f.get(&u) {
                    if let Some(m) = m {
                        for (x, n) in fs {
                            emit(*x, n * m)
                        }
                    }
                    let list = ft.entry(tid).or_default();
                    list.reserve(fs.len());
                    for (x, n) in fs {
                        *list.entry(*x).or_insert(0) += n
                    }
                }
                if let Some(m) = m {
                    *tr.entry(u).or_insert(0) += m
                }
                add(t, u, tid, 1);
                add(tu, tid, u, 1)
            }
            _ => {
                let tid = row[0];
                for (x, n) in ft.get(&tid).into_iter().flatten() {
                    emit(*x, *n)
                }
                for (u, n) in tu.get(&tid).into_iter().flatten() {
                    *tr.entry(*u).or_insert(0) += n
                }
                *r.entry(tid).or_insert(0) += 1
            }
        }
    }
}

/// q3 as rows: its maps hold what the result shows, and the result is one more.
#[derive(Default)]
struct Maps3Rows {
    f: Maps<i64>,
    t: Maps<i64>,
    tu: Maps<i64>,
    r: Maps<[i64; 2]>,
    ft: Maps<i64>,
    tr: Maps<[i64; 3]>,
    result: FxHashMap<[i64; 4], i64>,
}

#[derive(Default)]
struct Views1 {
    f: Idx<i64>,
    t: Idx<i64>,
}
impl Counting for Views1 {
    fn insert(&mut self, table: usize, r: &Row, emit: Emit) {
        if table == 0 {
            if let Some(ts) = self.t.get(&r[1]) {
                emit(r[2], ts.len() as i64)
            }
            put(&mut self.f, r[1], r[2])
        } else {
            for x in self.f.get(&r[0]).into_iter().flatten() {
                emit(*x, 1)
            }
            put(&mut self.t, r[0], r[1])
        }
    }
}

#[derive(Default)]
struct Views2 {
    t: Idx<i64>,
    r: Idx<[i64; 2]>,
}
impl Counting for Views2 {
    fn insert(&mut self, table: usize, r: &Row, emit: Emit) {
        if table == 0 {
            if let Some(rs) = self.r.get(&r[1]) {
                emit(r[2], rs.len() as i64)
            }
            put(&mut self.t, r[1], r[2])
        } else {
            for u in self.t.get(&r[0]).into_iter().flatten() {
                emit(*u, 1)
            }
            put(&mut self.r, r[0], [r[2], r[1]])
        }
    }
}

/// F T R: the base tables by each join attribute, and the two auxiliary views.
#[derive(Default)]
struct Views3 {
    f: Idx<i64>,
    t: Idx<i64>,
    tu: Idx<i64>,
    r: Idx<[i64; 2]>,
    ft: Idx<i64>,
    tr: Idx<[i64; 3]>,
}
impl Views3 {
    /// Keeps tables and auxiliary views; what came is joined before.
    fn keep(&mut self, table: usize, row: &Row) {
        let Views3 { f, t, tu, r, ft, tr } = self;
        match table {
            0 => {
                for tid in t.get(&row[1]).into_iter().flatten() {
                    put(ft, *tid, row[2])
                }
                put(f, row[1], row[2])
            }
            1 => {
                let (u, tid) = (row[0], row[1]);
                if let Some(fs) = f.get(&u) {
                    ft.entry(tid).or_default().extend_from_slice(fs)
                }
                for z in r.get(&tid).into_iter().flatten() {
                    put(tr, u, [tid, z[0], z[1]])
                }
                put(t, u, tid);
                put(tu, tid, u)
            }
            _ => {
                for u in tu.get(&row[0]).into_iter().flatten() {
                    put(tr, *u, [row[0], row[2], row[1]])
                }
                put(r, row[0], [row[2], row[1]])
            }
        }
    }
}
impl Counting for Views3 {
    fn insert(&mut self, table: usize, row: &Row, emit: Emit) {
        match table {
            0 => {
                if let Some(found) = self.tr.get(&row[1]) {
                    emit(row[2], found.len() as i64)
                }
            }
            1 => {
                if let (Some(fs), Some(rs)) = (self.f.get(&row[0]), self.r.get(&row[1])) {
                    for x in fs {
                        emit(*x, rs.len() as i64)
                    }
                }
            }
            _ => {
                for x in self.ft.get(&row[0]).into_iter().flatten() {
                    emit(*x, 1)
                }
            }
        }
        self.keep(table, row)
    }
}

/// A view of rows: takes a row of a table, pushes the view rows that come.
trait Joining: Default {
    fn insert(&mut self, table: usize, r: &Row, buf: &mut Vec<[i64; 4]>);
}
impl Joining for Views3 {
    fn insert(&mut self, table: usize, row: &Row, buf: &mut Vec<[i64; 4]>) {
        match table {
            0 => {
                for z in self.tr.get(&row[1]).into_iter().flatten() {
                    buf.push([row[2], z[0], z[1], z[2]])
                }
            }
            1 => {
                if let (Some(fs), Some(rs)) = (self.f.get(&row[0]), self.r.get(&row[1])) {
                    for x in fs {
                        for z in rs {
                            buf.push([*x, row[1], z[0], z[1]])
                        }
                    }
                }
            }
            _ => {
                for x in self.ft.get(&row[0]).into_iter().flatten() {
                    buf.push([*x, row[0], row[2], row[1]])
                }
            }
        }
        self.keep(table, row)
    }
}
impl Joining for Maps3Rows {
    fn insert(&mut self, table: usize, row: &Row, buf: &mut Vec<[i64; 4]>) {
        let Maps3Rows { f, t, tu, r, ft, tr, result } = self;
        let mut emit = |v: [i64; 4], n: i64| {
            *result.entry(v).or_insert(0) += n;
            for _ in 0..n {
                buf.push(v)
            }
        };
        match table {
            0 => {
                let (u, x) = (row[1], row[2]);
                for (z, n) in tr.get(&u).into_iter().flatten() {
                    emit([x, z[0], z[1], z[2]], *n)
                }
                for (tid, n) in t.get(&u).into_iter().flatten() {
                    add(ft, *tid, x, *n)
                }
                add(f, u, x, 1)
            }
            1 => {
                let (u, tid) = (row[0], row[1]);
                for (x, n) in f.get(&u).into_iter().flatten() {
                    for (z, m) in r.get(&tid).into_iter().flatten() {
                        emit([*x, tid, z[0], z[1]], n * m)
                    }
                    add(ft, tid, *x, *n)
                }
                for (z, m) in r.get(&tid).into_iter().flatten() {
                    add(tr, u, [tid, z[0], z[1]], *m)
                }
                add(t, u, tid, 1);
                add(tu, tid, u, 1)
            }
            _ => {
                let tid = row[0];
                for (x, n) in ft.get(&tid).into_iter().flatten() {
                    emit([*x, tid, row[2], row[1]], *n)
                }
                for (u, n) in tu.get(&tid).into_iter().flatten() {
                    add(tr, *u, [tid, row[2], row[1]], *n)
                }
                add(r, tid, [row[2], row[1]], 1)
            }
        }
    }
}

/// The rows to load, the last table first: rows of the first meet all others.
fn loaded(tables: &[Vec<Row>]) -> impl Iterator<Item = (usize, &Row)> {
    tables.iter().enumerate().rev().flat_map(|(table, rows)| rows.iter().map(move |r| (table, r)))
}

fn count<V: Counting>(a: &Args, Data { tables, diffs, .. }: &Data) -> Ran {
    let b = Bench::start();
    let (mut view, mut result) = (V::default(), Counts::default());
    for (table, r) in loaded(tables) {
        view.insert(table, r, &mut |g, n| *result.entry(g).or_insert(0) += n)
    }
    drive_agg(a, diffs, b, result, |table, r, emit| view.insert(table, r, emit))
}

fn join<V: Joining>(a: &Args, Data { tables, diffs, .. }: &Data) -> Ran {
    let b = Bench::start();
    let (mut view, mut buf) = (V::default(), Vec::new());
    for (table, r) in loaded(tables) {
        buf.clear();
        view.insert(table, r, &mut buf)
    }
    drive::<4>(a, diffs, b, |table, r, buf| view.insert(table, r, buf))
}

fn main() {
    let mut a = args();
    if a.variant.is_empty() {
        a.variant = "maps".into()
    }
    let data = load(&a);
    let run = match (a.variant.as_str(), a.w) {
        ("maps", W::Q(1, true)) => count::<Maps1>,
        ("maps", W::Q(2, true)) => count::<Maps2>,
        ("maps", W::Q(3, true)) => count::<Maps3>,
        ("maps", W::Q(3, false)) => join::<Maps3Rows>,
        ("views", W::Q(1, true)) => count::<Views1>,
        ("views", W::Q(2, true)) => count::<Views2>,
        ("views", W::Q(3, true)) => count::<Views3>,
        ("views", W::Q(3, false)) => join::<Views3>,
        (variant, _) => panic!("{} is not written for {variant}", a.wname),
    };
    report("stored", &a, repeated(&a, || run(&a, &data)))
}
