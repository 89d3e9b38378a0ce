//! The loop of the rivals that are called diff by diff: a step makes view rows or changes of groups, a sink reads them.
use crate::{Args, Bench, Out, Ran, Row};
use rustc_hash::FxHashMap;

/// Rows by a join attribute.
pub type Idx<T> = FxHashMap<i64, Vec<T>>;

#[inline(always)]
pub fn put<T>(m: &mut Idx<T>, k: i64, v: T) {
    m.entry(k).or_default().push(v)
}

/// Drives `step` over the diffs; `step` fills the buffer, the sink drains it after each batch.
pub fn drive<const C: usize>(
    a: &Args,
    diffs: &[(usize, Row)],
    mut b: Bench,
    mut step: impl FnMut(usize, &Row, &mut Vec<[i64; C]>),
) -> Ran {
    let mut buf: Vec<[i64; C]> = Vec::new();
    let mut o = Out::default();
    let n = diffs.len().min(a.max);
    b.loaded();
    for chunk in diffs[..n].chunks(a.batch) {
        buf.clear();
        for (t, r) in chunk {
            step(*t, r, &mut buf)
        }
        for r in &buf {
            o.row(r, 1)
        }
    }
    let s = b.run_s();
    b.ran((n, diffs.len().min(a.max)), s, o)
}

/// Aggregates: `step` yields (group, delta); a changed group is emitted once per batch as (group, old, new).
pub fn drive_agg(
    a: &Args,
    diffs: &[(usize, Row)],
    mut b: Bench,
    mut cnt: FxHashMap<i64, i64>,
    mut step: impl FnMut(usize, &Row, &mut dyn FnMut(i64, i64)),
) -> Ran {
    let mut o = Out::default();
    let mut buf: Vec<[i64; 3]> = Vec::new();
    let mut first: FxHashMap<i64, i64> = FxHashMap::default();
    let n = diffs.len().min(a.max);
    b.loaded();
    for chunk in diffs[..n].chunks(a.batch) {
        buf.clear();
        if a.batch == 1 {
            let (t, r) = &chunk[0];
            step(*t, r, &mut |g, d| {
                let c = cnt.entry(g).or_insert(0);
                let old = *c;
                *c += d;
                buf.push([g, old, *c])
            });
        } else {
            first.clear();
            for (t, r) in chunk {
                step(*t, r, &mut |g, d| {
                    let c = cnt.entry(g).or_insert(0);
                    first.entry(g).or_insert(*c);
                    *c += d
                });
            }
            for (g, old) in &first {
                buf.push([*g, *old, cnt[g]])
            }
        }
        for r in &buf {
            o.row(r, 1)
        }
    }
    let s = b.run_s();
    b.ran((n, diffs.len().min(a.max)), s, o)
}
