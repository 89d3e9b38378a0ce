//! EXISTS and NOT EXISTS by hand: retweets are counted by tweet, and only the first of a tweet is a change.
use common::drive::{Idx, put};
use common::{Args, Bench, Out, Ran, Row};
use rustc_hash::FxHashMap;

type Signed = Vec<([i64; 2], i64)>;

/// Drives `step` over the diffs; it fills the buffer with signed rows, which a sink drains after each batch.
fn drive(
    a: &Args,
    diffs: &[(usize, Row)],
    mut b: Bench,
    mut step: impl FnMut(usize, &Row, &mut Signed),
) -> Ran {
    let (mut buf, mut o, n) = (Signed::new(), Out::default(), diffs.len().min(a.max));
    b.loaded();
    for chunk in diffs[..n].chunks(a.batch) {
        buf.clear();
        for (t, r) in chunk {
            step(*t, r, &mut buf)
        }
        for (r, m) in &buf {
            o.row(r, *m)
        }
    }
    let s = b.run_s();
    b.ran((n, n), s, o)
}

/// Retweets by tweet.
fn counted(rows: &[Row]) -> FxHashMap<i64, i64> {
    let mut c = FxHashMap::default();
    for x in rows {
        *c.entry(x[0]).or_insert(0) += 1
    }
    c
}

/// Counts one more retweet; true if it is the first of its tweet.
fn is_first(c: &mut FxHashMap<i64, i64>, tweet: i64) -> bool {
    let n = c.entry(tweet).or_insert(0);
    *n += 1;
    *n == 1
}

/// (T.userId, T.tweetId): a tweet has one user, as its id is a key.
pub fn q2(a: &Args, is: bool, tables: &[Vec<Row>], diffs: &[(usize, Row)], b: Bench) -> Ran {
    let mut t: FxHashMap<i64, i64> = tables[0].iter().map(|x| (x[1], x[2])).collect();
    let (mut c, sign) = (counted(&tables[1]), if is { 1 } else { -1 });
    drive(a, diffs, b, |table, x, buf| {
        if table == 0 {
            t.insert(x[1], x[2]);
            if c.contains_key(&x[1]) == is {
                buf.push(([x[2], x[1]], 1))
            }
        } else if is_first(&mut c, x[0]) {
            if let Some(u) = t.get(&x[0]) {
                buf.push(([*u, x[0]], sign))
            }
        }
    })
}

/// (F.followerId, T.tweetId)
pub fn q3(a: &Args, is: bool, tables: &[Vec<Row>], diffs: &[(usize, Row)], b: Bench) -> Ran {
    let (mut f, mut t): (Idx<i64>, Idx<i64>) = Default::default();
    for x in &tables[0] {
        put(&mut f, x[1], x[2])
    }
    let mut tu: FxHashMap<i64, i64> = FxHashMap::default();
    for x in &tables[1] {
        put(&mut t, x[0], x[1]);
        tu.insert(x[1], x[0]);
    } // t: for follower diffs
    let (mut c, sign) = (counted(&tables[2]), if is { 1 } else { -1 });
    drive(a, diffs, b, |table, x, buf| {
        if table == 1 {
            put(&mut t, x[0], x[1]);
            tu.insert(x[1], x[0]);
            if c.contains_key(&x[1]) == is {
                if let Some(fs) = f.get(&x[0]) {
                    for y in fs {
                        buf.push(([*y, x[1]], 1))
                    }
                }
            }
        } else if is_first(&mut c, x[0]) {
            if let Some(fs) = tu.get(&x[0]).and_then(|u| f.get(u)) {
                for y in fs {
                    buf.push(([*y, x[0]], sign))
                }
            }
        }
    })
}
