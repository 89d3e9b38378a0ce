//! dbsp (Feldera's engine), one worker thread, no storage, no adaptive joins: left-deep join_index/join circuits as the
//! SQL compiler emits them. --variant acc (default): accumulate_output, its batch read after each transaction, as
//! Feldera's own pipelines do; --variant inspect: an Inspect operator on the view stream, nothing retained.
use common::*;
use dbsp::typed_batch::IndexedZSetReader;
use dbsp::utils::{Tup2, Tup3, Tup4, Tup5, Tup6};
use dbsp::{
    DBData, IndexedZSetHandle, OrdIndexedZSet, OrdZSet, OutputHandle, RootCircuit, Runtime, Stream,
    ZSetHandle,
};
use std::sync::{Arc, Mutex};

type Shared = Arc<Mutex<Out>>;
type S<T> = Stream<RootCircuit, T>;

/// A view tuple: its columns in output order.
trait Cols: DBData {
    fn add(&self, o: &mut Out, m: i64);
}
macro_rules! cols { ($($t:ty: $($i:tt),+;)+) => { $(impl Cols for $t { #[inline(always)] fn add(&self, o: &mut Out, m: i64) { o.row(&[$(self.$i),+], m) } })+ } }
cols! {
    Tup2<i64, i64>: 0, 1;
    Tup3<i64, i64, i64>: 0, 1, 2;
    Tup4<i64, i64, i64, i64>: 0, 1, 2, 3;
    Tup5<i64, i64, i64, i64, i64>: 0, 1, 2, 3, 4;
    Tup6<i64, i64, i64, i64, i64, i64>: 0, 1, 2, 3, 4, 5;
}

/// An input table: U is a set of keys, V1 key -> i64, V2 key -> (i64, i64).
enum In {
    U(ZSetHandle<i64>),
    V1(IndexedZSetHandle<i64, i64>, usize, usize),
    V2(IndexedZSetHandle<i64, Tup2<i64, i64>>, usize, usize, usize),
}
impl In {
    fn push(&self, r: &Row) {
        match self {
            In::U(h) => h.push(r[1], 1),
            In::V1(h, k, v) => h.push(r[*k], (r[*v], 1)),
            In::V2(h, k, v, w) => h.push(r[*k], (Tup2(r[*v], r[*w]), 1)),
        }
    }
    fn load(&self, rows: Vec<Row>) {
        match self {
            In::U(h) => h.append(&mut rows.iter().map(|r| Tup2(r[1], 1)).collect()),
            In::V1(h, k, v) => {
                h.append(&mut rows.iter().map(|r| Tup2(r[*k], Tup2(r[*v], 1))).collect())
            }
            In::V2(h, k, v, w) => h.append(
                &mut rows.iter().map(|r| Tup2(r[*k], Tup2(Tup2(r[*v], r[*w]), 1))).collect(),
            ),
        }
    }
}

/// Reads what the last transaction emitted (a no-op for the inspect variant, which has already added it).
type Drain = Box<dyn FnMut(&mut Out) + Send>;

fn view<T: Cols>(s: S<OrdZSet<T>>, acc: bool, o: Shared) -> Drain {
    if acc {
        let h: OutputHandle<_> = s.accumulate_output();
        Box::new(move |o| {
            for b in h.take_from_all() {
                for (k, _, m) in b.iter() {
                    k.add(o, m)
                }
            }
        })
    } else {
        s.inspect(move |b| {
            let mut o = o.lock().unwrap();
            for (k, _, m) in b.iter() {
                k.add(&mut o, m)
            }
        });
        Box::new(|_| ())
    }
}
fn view_agg(s: S<OrdZSet<i64>>, acc: bool, o: Shared) -> Drain {
    let s: S<OrdIndexedZSet<i64, i64>> = s.weighted_count();
    if acc {
        let h: OutputHandle<_> = s.accumulate_output();
        Box::new(move |o| {
            for b in h.take_from_all() {
                for (g, c, m) in b.iter() {
                    o.agg(g, c, m)
                }
            }
        })
    } else {
        s.inspect(move |b| {
            let mut o = o.lock().unwrap();
            for (g, c, m) in b.iter() {
                o.agg(g, c, m)
            }
        });
        Box::new(|_| ())
    }
}

fn build(c: &mut RootCircuit, w: W, acc: bool, o: Shared) -> (Vec<In>, Drain) {
    let v1 = |c: &mut RootCircuit, k, v| {
        let (s, h) = c.add_input_indexed_zset::<i64, i64>();
        (s, In::V1(h, k, v))
    };
    let v2 = |c: &mut RootCircuit, k, v, x| {
        let (s, h) = c.add_input_indexed_zset::<i64, Tup2<i64, i64>>();
        (s, In::V2(h, k, v, x))
    };
    match w {
        W::Fanout(_) => {
            let (f, fh) = v1(c, 1, 2);
            let (t, th) = v2(c, 0, 1, 2);
            (vec![fh, th], view(f.join(&t, |u, f, t| Tup4(*f, *u, t.0, t.1)), acc, o))
        }
        W::ChainF(k) => {
            let (u, uh) = c.add_input_zset::<i64>();
            let (t, th) = v1(c, 0, 2);
            let (f, fh) = v1(c, 0, 1);
            let hs = vec![In::U(uh), th, fh];
            let s = u.map_index(|u| (*u, ())).join_index(&t, |u, _, t| Some((*u, *t)));
            if k == 2 {
                return (hs, view(s.join(&f, |_, t, f| Tup2(*t, *f)), acc, o));
            }
            let s = s.join_index(&f, |_, t, f| Some((*f, *t)));
            if k == 3 {
                return (hs, view(s.join(&f, |f1, t, f| Tup3(*t, *f1, *f)), acc, o));
            }
            let s = s.join_index(&f, |f1, t, f| Some((*f, Tup2(*t, *f1))));
            if k == 4 {
                return (hs, view(s.join(&f, |f2, v, f| Tup4(v.0, v.1, *f2, *f)), acc, o));
            }
            let s = s.join_index(&f, |f2, v, f| Some((*f, Tup3(v.0, v.1, *f2))));
            assert!(k == 5);
            (hs, view(s.join(&f, |f3, v, f| Tup5(v.0, v.1, v.2, *f3, *f)), acc, o))
        }
        W::ChainR(k) => {
            let (f, fh) = v1(c, 1, 2);
            let (t, th) = v1(c, 0, 1);
            let (r, rh) = v1(c, 0, 1);
            let hs = vec![fh, th, rh];
            let s = f.join_index(&t, |_, f, t| Some((*t, *f)));
            if k == 2 {
                return (hs, view(s.join(&r, |t, f, r| Tup3(*f, *t, *r)), acc, o));
            }
            let s = s.join_index(&r, |t, f, r| Some((*r, Tup2(*f, *t))));
            if k == 3 {
                return (hs, view(s.join(&r, |r1, v, r| Tup4(v.0, v.1, *r1, *r)), acc, o));
            }
            let s = s.join_index(&r, |r1, v, r| Some((*r, Tup3(v.0, v.1, *r1))));
            if k == 4 {
                return (hs, view(s.join(&r, |r2, v, r| Tup5(v.0, v.1, v.2, *r2, *r)), acc, o));
            }
            let s = s.join_index(&r, |r2, v, r| Some((*r, Tup4(v.0, v.1, v.2, *r2))));
            assert!(k == 5);
            (hs, view(s.join(&r, |r3, v, r| Tup6(v.0, v.1, v.2, v.3, *r3, *r)), acc, o))
        }
        W::Q(1, agg) => {
            let (f, fh) = v1(c, 1, 2);
            let (t, th) = v1(c, 0, 1);
            let d = if agg {
                view_agg(f.join(&t, |_, f, _| *f), acc, o)
            } else {
                view(f.join(&t, |_, f, t| Tup2(*f, *t)), acc, o)
            };
            (vec![fh, th], d)
        }
        W::Q(2, agg) => {
            let (t, th) = v1(c, 1, 2);
            let (r, rh) = v2(c, 0, 2, 1);
            let d = if agg {
                view_agg(t.join(&r, |_, u, _| *u), acc, o)
            } else {
                view(t.join(&r, |t, u, r| Tup4(*u, *t, r.0, r.1)), acc, o)
            };
            (vec![th, rh], d)
        }
        W::Q(_, agg) => {
            let (f, fh) = v1(c, 1, 2);
            let (t, th) = v1(c, 0, 1);
            let s = f.join_index(&t, |_, f, t| Some((*t, *f)));
            if agg {
                let (r, rh) = v1(c, 0, 1);
                return (vec![fh, th, rh], view_agg(s.join(&r, |_, f, _| *f), acc, o));
            }
            let (r, rh) = v2(c, 0, 2, 1);
            (vec![fh, th, rh], view(s.join(&r, |t, f, r| Tup4(*f, *t, r.0, r.1)), acc, o))
        }
        W::Churn | W::LeftF(_) | W::Asked(..) => panic!("not written for dbsp"),
    }
}

fn main() {
    let mut a = args();
    if a.variant.is_empty() {
        a.variant = "acc".into()
    }
    let mut b = Bench::start();
    let Data { tables, diffs, .. } = load(&a);
    let shared: Shared = Default::default();
    let (w, acc, o) = (a.w, a.variant == "acc", shared.clone());
    let (mut dbsp, (ins, mut drain)) =
        Runtime::init_circuit(1, move |c| Ok(build(c, w, acc, o))).unwrap();
    let mut out = Out::default();
    for (h, t) in ins.iter().zip(tables) {
        h.load(t)
    }
    dbsp.transaction().unwrap();
    drain(&mut out);
    let take = |out: &mut Out| {
        if acc { std::mem::take(out) } else { std::mem::take(&mut *shared.lock().unwrap()) }
    };
    take(&mut out);
    let total = diffs.len().min(a.max);
    let mut done = 0;
    b.loaded();
    for chunk in diffs[..total].chunks(a.batch) {
        for (t, r) in chunk {
            ins[*t].push(r)
        }
        dbsp.transaction().unwrap();
        drain(&mut out);
        done += chunk.len();
        if b.over(&a, done) {
            break;
        }
    }
    let s = b.run_s();
    let res = take(&mut out);
    b.report("dbsp", &a, (done, total), s, res);
    dbsp.kill().unwrap();
}
