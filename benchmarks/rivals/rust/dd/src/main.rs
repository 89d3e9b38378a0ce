//! differential-dataflow, one worker thread. --variant binary (default): left-deep joins, every intermediate arranged;
//! --variant delta: differential-dogs3 half_join delta queries over shared arrangements of the base tables only
//! (for joins the base view itself is not computed: changes at load time are not sent down the delta paths).
use common::*;
use differential_dataflow::input::{Input, InputSession};
use differential_dataflow::operators::arrange::{Arranged, TraceAgent};
use differential_dataflow::operators::count::CountTotal;
use differential_dataflow::trace::implementations::ValSpine;
use differential_dataflow::{AsCollection, VecCollection};
use differential_dogs3::operators::half_join;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::cell::RefCell;
use std::rc::Rc;
use timely::dataflow::operators::probe::Handle;
use timely::dataflow::operators::vec::{Filter, Map};
use timely::progress::Antichain;

type T = u32;
type Coll<'s, D> = VecCollection<'s, T, D, isize>;
type Sess = InputSession<T, Row, isize>;
type Shared = Rc<RefCell<Out>>;

/// A fixed array with a serde impl for any length (never called: one worker, no network).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
struct A<const C: usize>([i64; C]);
impl<const C: usize> Default for A<C> {
    fn default() -> Self {
        A([0; C])
    }
}
impl<const C: usize> Serialize for A<C> {
    fn serialize<S: Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
        unreachable!()
    }
}
impl<'de, const C: usize> Deserialize<'de> for A<C> {
    fn deserialize<D: Deserializer<'de>>(_: D) -> Result<Self, D::Error> {
        unreachable!()
    }
}

fn sink<'s, const C: usize>(c: Coll<'s, A<C>>, o: Shared, probe: &Handle<T>) {
    c.inspect_container(move |ev| {
        if let Ok((_, v)) = ev {
            let mut o = o.borrow_mut();
            for (r, _, m) in v {
                o.row(&r.0, *m as i64)
            }
        }
    })
    .probe_with(probe);
}
fn sink_agg<'s>(c: Coll<'s, i64>, o: Shared, probe: &Handle<T>) {
    c.count_total()
        .inspect_container(move |ev| {
            if let Ok((_, v)) = ev {
                let mut o = o.borrow_mut();
                for ((g, n), _, m) in v {
                    o.agg(*g, *n as i64, *m as i64)
                }
            }
        })
        .probe_with(probe);
}

/// Left-deep binary joins: the key of an intermediate is the next join attribute and is not repeated in its value.
macro_rules! by {
    ($c:expr, |$r:ident| $k:expr, $v:expr) => {
        $c.map(|$r: Row| ($k, $v)).arrange_by_key()
    };
}

fn binary<'s>(w: W, c: Vec<Coll<'s, Row>>, o: Shared, p: &Handle<T>) {
    let mut c = c.into_iter();
    let mut next = || c.next().unwrap();
    match w {
        W::Fanout(_) => {
            let f = by!(next(), |r| r[1], r[2]);
            let t = by!(next(), |r| r[0], [r[1], r[2]]);
            sink(f.join_core(t, |u, f, t| Some(A([*f, *u, t[0], t[1]]))), o, p)
        }
        W::ChainF(k) => {
            let u = by!(next(), |r| r[1], ());
            let t = by!(next(), |r| r[0], r[2]);
            let f = by!(next(), |r| r[0], r[1]);
            let s = u.join_core(t, |u, _, t| Some((*u, *t))).arrange_by_key();
            if k == 2 {
                return sink(s.join_core(f, |_, t, f| Some(A([*t, *f]))), o, p);
            }
            let s = s.join_core(f.clone(), |_, t, f| Some((*f, *t))).arrange_by_key();
            if k == 3 {
                return sink(s.join_core(f, |f1, t, f| Some(A([*t, *f1, *f]))), o, p);
            }
            let s = s.join_core(f.clone(), |f1, t, f| Some((*f, [*t, *f1]))).arrange_by_key();
            if k == 4 {
                return sink(s.join_core(f, |f2, v, f| Some(A([v[0], v[1], *f2, *f]))), o, p);
            }
            let s =
                s.join_core(f.clone(), |f2, v, f| Some((*f, [v[0], v[1], *f2]))).arrange_by_key();
            assert!(k == 5);
            sink(s.join_core(f, |f3, v, f| Some(A([v[0], v[1], v[2], *f3, *f]))), o, p)
        }
        W::ChainR(k) => {
            let f = by!(next(), |r| r[1], r[2]);
            let t = by!(next(), |r| r[0], r[1]);
            let r = by!(next(), |r| r[0], r[1]);
            let s = f.join_core(t, |_, f, t| Some((*t, *f))).arrange_by_key();
            if k == 2 {
                return sink(s.join_core(r, |t, f, r| Some(A([*f, *t, *r]))), o, p);
            }
            let s = s.join_core(r.clone(), |t, f, r| Some((*r, [*f, *t]))).arrange_by_key();
            if k == 3 {
                return sink(s.join_core(r, |r1, v, r| Some(A([v[0], v[1], *r1, *r]))), o, p);
            }
            let s =
                s.join_core(r.clone(), |r1, v, r| Some((*r, [v[0], v[1], *r1]))).arrange_by_key();
            if k == 4 {
                return sink(s.join_core(r, |r2, v, r| Some(A([v[0], v[1], v[2], *r2, *r]))), o, p);
            }
            let s = s
                .join_core(r.clone(), |r2, v, r| Some((*r, [v[0], v[1], v[2], *r2])))
                .arrange_by_key();
            assert!(k == 5);
            sink(s.join_core(r, |r3, v, r| Some(A([v[0], v[1], v[2], v[3], *r3, *r]))), o, p)
        }
        W::Q(1, agg) => {
            let f = by!(next(), |r| r[1], r[2]);
            let t = by!(next(), |r| r[0], r[1]);
            if agg {
                sink_agg(f.join_core(t, |_, f, _| Some(*f)), o, p)
            } else {
                sink(f.join_core(t, |_, f, t| Some(A([*f, *t]))), o, p)
            }
        }
        W::Q(2, agg) => {
            let t = by!(next(), |r| r[1], r[2]);
            let r = by!(next(), |r| r[0], [r[2], r[1]]);
            if agg {
                sink_agg(t.join_core(r, |_, u, _| Some(*u)), o, p)
            } else {
                sink(t.join_core(r, |t, u, r| Some(A([*u, *t, r[0], r[1]]))), o, p)
            }
        }
        W::Q(3, agg) => {
            let f = by!(next(), |r| r[1], r[2]);
            let t = by!(next(), |r| r[0], r[1]);
            let s = f.join_core(t, |_, f, t| Some((*t, *f))).arrange_by_key();
            if agg {
                let r = by!(next(), |r| r[0], r[1]);
                sink_agg(s.join_core(r, |_, f, _| Some(*f)), o, p)
            } else {
                let r = by!(next(), |r| r[0], [r[2], r[1]]);
                sink(s.join_core(r, |t, f, r| Some(A([*f, *t, r[0], r[1]]))), o, p)
            }
        }
        W::LeftF(k) => {
            let u = by!(next(), |r| r[1], ());
            let t = by!(next(), |r| r[0], r[2]);
            let f = next();
            let some = f.clone().map(|r| r[0]).distinct();
            let f = by!(f, |r| r[0], r[1]);
            let s = u.join_core(t, |u, _, t| Some((*u, *t)));
            if k == 2 {
                let gone = s.clone().antijoin(some).map(|(_, t)| A([t, NULL]));
                let met = s.arrange_by_key().join_core(f, |_, t, f| Some(A([*t, *f])));
                return sink(met.concat(gone), o, p);
            }
            assert!(k == 3);
            let s = s.arrange_by_key().join_core(f.clone(), |_, t, f| Some((*f, *t)));
            let gone = s.clone().antijoin(some).map(|(f1, t)| A([t, f1, NULL]));
            let met = s.arrange_by_key().join_core(f, |f1, t, f| Some(A([*t, *f1, *f])));
            sink(met.concat(gone), o, p)
        }
        W::Asked(q, is) => {
            let s: Coll<'s, (i64, i64)> = if q == 2 {
                next().map(|r| (r[1], r[2]))
            } else {
                let f = by!(next(), |r| r[1], r[2]);
                let t = by!(next(), |r| r[0], r[1]);
                f.join_core(t, |_, f, t| Some((*t, *f)))
            };
            let some = next().map(|r| r[0]).distinct();
            let s = if is { s.semijoin(some) } else { s.antijoin(some) };
            sink(s.map(|(t, x)| A([x, t])), o, p)
        }
        _ => unreachable!(),
    }
}

/// A relation instance on the path: its table and the output column of each of l, r, x.
#[derive(Clone, Copy)]
struct Rel {
    table: usize,
    out: [Option<usize>; 3],
}

fn path(w: W) -> (Vec<Rel>, usize) {
    let rel = |table, l: i32, r: i32, x: i32| Rel {
        table,
        out: [l, r, x].map(|i| if i < 0 { None } else { Some(i as usize) }),
    };
    match w {
        W::Fanout(_) => (vec![rel(0, -1, -1, 0), rel(1, 1, 2, 3)], 4),
        W::ChainF(k) => {
            let mut v = vec![rel(0, -1, -1, -1), rel(1, -1, -1, 0)];
            for i in 1..k {
                v.push(rel(2, -1, i as i32, -1))
            }
            (v, k)
        }
        W::ChainR(k) => {
            let mut v = vec![rel(0, -1, -1, 0), rel(1, -1, 1, -1)];
            for i in 1..k {
                v.push(rel(2, -1, 1 + i as i32, -1))
            }
            (v, k + 1)
        }
        W::Q(1, _) => (vec![rel(0, -1, -1, 0), rel(1, -1, 1, -1)], 2),
        W::Q(2, _) => (vec![rel(0, -1, 1, 0), rel(1, -1, 3, 2)], 4),
        W::Churn => panic!("churn is not written for differential-dataflow"),
        W::LeftF(_) | W::Asked(..) => panic!("no delta query is written for it"),
        W::Q(_, _) => (vec![rel(0, -1, -1, 0), rel(1, -1, 1, -1), rel(2, -1, 3, 2)], 4),
    }
}

#[inline(always)]
fn fill<const C: usize>(p: &mut A<C>, out: &[Option<usize>; 3], r: &Row) {
    for i in 0..3 {
        if let Some(o) = out[i] {
            p.0[o] = r[i]
        }
    }
}

type Arr<'s> = Arranged<'s, TraceAgent<ValSpine<i64, [i64; 2], T, isize>>>;

fn delta<'s, const C: usize>(w: W, colls: Vec<Coll<'s, Row>>, skip_base: bool) -> Coll<'s, A<C>> {
    let (rels, nc) = path(w);
    assert_eq!(nc, C);
    let n = rels.len();
    // an arrangement per table and used side, shared by all its instances
    let mut by_l: Vec<Option<Arr<'s>>> = vec![None; colls.len()];
    let mut by_r: Vec<Option<Arr<'s>>> = vec![None; colls.len()];
    for (j, r) in rels.iter().enumerate() {
        if j > 0 && by_l[r.table].is_none() {
            by_l[r.table] =
                Some(colls[r.table].clone().map(|r| (r[0], [r[1], r[2]])).arrange_by_key())
        }
        if j + 1 < n && by_r[r.table].is_none() {
            by_r[r.table] =
                Some(colls[r.table].clone().map(|r| (r[1], [r[0], r[2]])).arrange_by_key())
        }
    }
    let frontier = |t: &T, a: &mut Antichain<T>| {
        a.insert(t.saturating_sub(1));
    };
    let mut all: Option<Coll<'s, A<C>>> = None;
    for i in 0..n {
        let out = rels[i].out;
        // prefix: (current key, (columns so far, the key waiting on the other side), time)
        let start = colls[rels[i].table].clone().inner.filter(move |x| !(skip_base && x.1 == 0));
        // chainF's tweets look up their user (at most one match) before they fan out over the followers; else right first
        let left_first = i > 0 && (matches!(w, W::ChainF(_)) || i + 1 == n);
        let (right, left): (Vec<usize>, Vec<usize>) =
            ((i + 1..n).collect(), (0..i).rev().collect());
        let order = if left_first { [left, right].concat() } else { [right, left].concat() };
        let mut s: Coll<'s, (i64, (A<C>, i64), T)> = start
            .map(move |(r, t, d)| {
                let mut p = A::default();
                fill(&mut p, &out, &r);
                let (k, other) = if left_first { (r[0], r[1]) } else { (r[1], r[0]) };
                ((k, (p, other), t), t, d)
            })
            .as_collection();
        for (step, &j) in order.iter().enumerate() {
            let rightward = j > i;
            // after this extension, turn to the other side if the next relation lies there
            let turn = order.get(step + 1).is_some_and(|&q| (q > i) != rightward);
            let out = rels[j].out;
            let arr =
                if rightward { by_l[rels[j].table].clone() } else { by_r[rels[j].table].clone() }
                    .unwrap();
            let ext = move |k: &i64, (p, other): &(A<C>, i64), v: &[i64; 2]| {
                let mut p = *p;
                let r = if rightward { [*k, v[0], v[1]] } else { [v[0], *k, v[1]] };
                fill(&mut p, &out, &r);
                if turn {
                    (*other, (p, 0))
                } else {
                    (if rightward { r[1] } else { r[0] }, (p, *other))
                }
            };
            // relations earlier on the path are seen with their concurrent updates, later ones without
            let joined = if j < i {
                half_join(s, arr, frontier, |a: &T, b: &T| a <= b, ext)
            } else {
                half_join(s, arr, frontier, |a: &T, b: &T| a < b, ext)
            };
            s = joined.map(|((k, v), t)| (k, v, t));
        }
        let res = s.inner.map(|((_, (p, _), t), _, d)| (p, t, d)).as_collection();
        all = Some(match all {
            None => res,
            Some(a) => a.concat(res),
        });
    }
    all.unwrap()
}

fn delta_all<'s>(w: W, c: Vec<Coll<'s, Row>>, o: Shared, p: &Handle<T>) {
    macro_rules! go {
        ($c:literal) => {
            sink(delta::<$c>(w, c, true), o, p)
        };
    }
    macro_rules! goa {
        ($c:literal) => {
            sink_agg(delta::<$c>(w, c, false).map(|a| a.0[0]), o, p)
        };
    }
    match w {
        W::Q(1, true) => goa!(2),
        W::Q(_, true) => goa!(4),
        _ => match path(w).1 {
            2 => go!(2),
            3 => go!(3),
            4 => go!(4),
            5 => go!(5),
            6 => go!(6),
            _ => unreachable!(),
        },
    }
}

fn main() {
    let mut a = args();
    if a.variant.is_empty() {
        a.variant = "binary".into()
    }
    timely::execute_directly(move |worker| {
        let mut b = Bench::start();
        let Data { tables, diffs, .. } = load(&a);
        let out: Shared = Default::default();
        let probe = Handle::new();
        let mut ins: Vec<Sess> = worker.dataflow(|scope| {
            let (mut hs, mut cs) = (Vec::new(), Vec::new());
            for _ in 0..tables.len() {
                let (h, c) = scope.new_collection::<Row, isize>();
                hs.push(h);
                cs.push(c)
            }
            if a.variant == "delta" {
                delta_all(a.w, cs, out.clone(), &probe)
            } else {
                binary(a.w, cs, out.clone(), &probe)
            }
            hs
        });
        for (i, t) in tables.into_iter().enumerate() {
            for r in t {
                ins[i].insert(r)
            }
        }
        let mut now: T = 1;
        for h in &mut ins {
            h.advance_to(now);
            h.flush()
        }
        worker.step_while(|| probe.less_than(&now));
        *out.borrow_mut() = Out::default();
        let total = diffs.len().min(a.max);
        let mut done = 0;
        b.loaded();
        for chunk in diffs[..total].chunks(a.batch) {
            for (t, r) in chunk {
                ins[*t].insert(*r)
            }
            now += 1;
            for h in &mut ins {
                h.advance_to(now);
                h.flush()
            }
            worker.step_while(|| probe.less_than(&now));
            done += chunk.len();
            if b.over(&a, done) {
                break;
            }
        }
        let s = b.run_s();
        b.report("dd", &a, (done, total), s, *out.borrow());
    });
}
