//! What all Rust rivals share: the data in one canonical form, the metrics, the JSON line.
//!
//! Every view is a path of relations: rows are [l, r, x]; relation i's r joins relation i+1's l.
//!   fanout  F(-, userId, followerId)  T(userId, tweetId, date)
//!           out F.x T.l T.r T.x
//!   chainF  U(-, userId, -)  T(userId, userId, tweetId)  F(userId, followerId, -)*
//!           out T.x F1.r .. Fn.r
//!   chainR  F(-, userId, followerId)  T(userId, tweetId, -)  R(rtid, tweetId, -)*
//!           out F.x T.r R1.r .. Rn.r
//!   q1      F  T                                               out F.x T.r
//!   q2      T(-, tweetId, userId)  R(rtid, tweetId, userId)    out T.x T.r R.x R.r
//!   q3      F  T  R(rtid, tweetId, userId)                     out F.x T.r R.x R.r
//!   q2_long q2 with diffs of its own, more than a cache holds
//!   churn   q3 with deletes and updates (`hand` only)
//!   q*agg   count(*) by output column 0
pub mod drive;

use std::time::Instant;

#[global_allocator]
static ALLOC: mimalloc::MiMalloc = mimalloc::MiMalloc;

pub type Row = [i64; 3];

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum W {
    Fanout(usize),
    ChainF(usize),
    ChainR(usize),
    Q(usize, bool),
    Churn,
    /// The last follower of a chainF by LEFT JOIN.
    LeftF(usize),
    /// The tweets of q2 or q3 that have a retweet, or that have none.
    Asked(usize, bool),
}

/// The word that stands for NULL in checksums.
pub const NULL: i64 = -0x7A3F9D215C8EB461;

/// The inner join of the same tables.
fn inner(w: W) -> W {
    match w {
        W::LeftF(k) => W::ChainF(k),
        W::Asked(q, _) => W::Q(q, false),
        _ => w,
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Diff {
    Insert(Row),
    Delete(Row),
    Update(Row, Row),
}

pub struct Data {
    /// base rows per table, in path order
    pub tables: Vec<Vec<Row>>,
    /// inserted rows with the number of their table; empty for churn
    pub diffs: Vec<(usize, Row)>,
    /// churn's diffs; empty for all others
    pub changes: Vec<(usize, Diff)>,
}

pub fn parse(w: &str) -> W {
    if w == "churn" {
        return W::Churn;
    }
    if let Some(n) = w.strip_prefix("fanout_") {
        return W::Fanout(n.parse().unwrap());
    }
    if let Some(k) = w.strip_prefix("chainF_") {
        return W::ChainF(k.parse().unwrap());
    }
    if let Some(k) = w.strip_prefix("chainR_") {
        return W::ChainR(k.parse().unwrap());
    }
    if let Some(k) = w.strip_prefix("left_chainF_") {
        return W::LeftF(k.parse().unwrap());
    }
    if let Some(q) = w.strip_prefix("exists_q") {
        return W::Asked(q.parse().unwrap(), true);
    }
    if let Some(q) = w.strip_prefix("not_exists_q") {
        return W::Asked(q.parse().unwrap(), false);
    }
    let w = w.strip_suffix("_long").unwrap_or(w);
    let (b, agg) = match w.strip_suffix("agg") {
        Some(b) => (b, true),
        None => (w, false),
    };
    W::Q(b.strip_prefix('q').expect("unknown workload").parse().unwrap(), agg)
}

fn col(dir: &str, t: &str, c: &str) -> Vec<i64> {
    let p = format!("{dir}/{t}/{c}.i64");
    let b = std::fs::read(&p).unwrap_or_else(|e| panic!("{p}: {e}"));
    b.chunks_exact(8).map(|x| i64::from_le_bytes(x.try_into().unwrap())).collect()
}

/// Rows [l, r, x] of a table; an unnamed column is 0.
fn rows(dir: &str, t: &str, names: [&str; 3]) -> Vec<Row> {
    let c = names.map(|n| if n.is_empty() { Vec::new() } else { col(dir, t, n) });
    let n = c.iter().map(Vec::len).max().unwrap();
    (0..n).map(|i| [0, 1, 2].map(|j| c[j].get(i).copied().unwrap_or(0))).collect()
}

/// Marks the last `n` tweets and the last `n` retweets by date, and lists both merged by date.
fn hold_out(dir: &str, n: usize) -> (Vec<bool>, Vec<bool>, Vec<(bool, usize)>) {
    let dates = [col(dir, "tweet", "tweetDate"), col(dir, "retweet", "tweetDate")];
    let mut all: Vec<(i64, bool, usize)> = Vec::new();
    for (is_r, d) in [false, true].into_iter().zip(&dates) {
        all.extend(d.iter().enumerate().map(|(i, d)| (*d, is_r, i)));
    }
    all.sort();
    let mut held = dates.map(|d| vec![false; d.len()]);
    let mut taken = [0, 0];
    for &(_, is_r, i) in all.iter().rev() {
        let t = is_r as usize;
        if taken[t] < n {
            held[t][i] = true;
            taken[t] += 1;
        }
    }
    let kept = |&&(_, r, i): &&(i64, bool, usize)| held[r as usize][i];
    let order = all.iter().filter(kept).map(|&(_, r, i)| (r, i)).collect();
    let [tweets, retweets] = held;
    (tweets, retweets, order)
}

/// Reads churn's diffs: op 0 insert, 1 delete, 2 and 3 an update's row before and after.
fn changes(dir: &str) -> Vec<(usize, Diff)> {
    let c = ["op", "table", "c0", "c1", "c2", "c3"].map(|n| col(dir, "churn", n));
    let row = |i: usize| match c[1][i] {
        0 => [0, c[2][i], c[3][i]],
        1 => [c[2][i], c[3][i], 0],
        _ => [c[5][i], c[3][i], c[2][i]],
    };
    (0..c[0].len())
        .filter_map(|i| {
            let diff = match c[0][i] {
                0 => Diff::Insert(row(i)),
                1 => Diff::Delete(row(i)),
                2 => Diff::Update(row(i), row(i + 1)),
                _ => return None,
            };
            Some((c[1][i] as usize, diff))
        })
        .collect()
}

pub fn load(a: &Args) -> Data {
    let d = a.dir.as_str();
    let tag = |t: usize, v: Vec<Row>| v.into_iter().map(|r| (t, r)).collect::<Vec<_>>();
    let followers = || rows(d, "follower", ["", "userId", "followerId"]);
    let retweets = || rows(d, "retweet", ["retweetTweetId", "tweetId", "userId"]);
    let changes = if a.w == W::Churn { changes(d) } else { Vec::new() };
    let (tables, diffs) = match inner(a.w) {
        W::Fanout(n) => {
            let mut f = followers();
            f.extend(rows(d, &format!("fanout_{n}/follower"), ["", "userId", "followerId"]));
            let names = ["userId", "tweetId", "tweetDate"];
            (vec![f, rows(d, "tweet", names)], tag(1, rows(d, &format!("fanout_{n}/tweet"), names)))
        }
        W::ChainF(_) => {
            let mut u = rows(d, "user", ["", "userId", ""]);
            u.extend(rows(d, "user_plants", ["", "userId", ""]));
            let names = ["userId", "userId", "tweetId"];
            let f = rows(d, "follower", ["userId", "followerId", ""]);
            (vec![u, rows(d, "tweet", names), f], tag(1, rows(d, "chainF", names)))
        }
        W::ChainR(_) => {
            let t = rows(d, "tweet", ["userId", "tweetId", ""]);
            let r = rows(d, "retweet", ["retweetTweetId", "tweetId", ""]);
            let diffs = rows(d, "chainR", ["", "userId", "followerId"]);
            (vec![followers(), t, r], tag(0, diffs))
        }
        W::Churn => {
            (vec![followers(), rows(d, "tweet", ["userId", "tweetId", ""]), retweets()], Vec::new())
        }
        W::Q(2, _) if a.wname == "q2_long" => {
            let t = |folder: &str| rows(d, &format!("{folder}tweet"), ["", "tweetId", "userId"]);
            let r = |folder: &str| {
                rows(d, &format!("{folder}retweet"), ["retweetTweetId", "tweetId", "userId"])
            };
            let mut diffs = tag(0, t("q2_long/"));
            diffs.extend(tag(1, r("q2_long/")));
            (vec![t(""), r("")], diffs)
        }
        W::Q(q, _) => {
            let names = if q == 2 { ["", "tweetId", "userId"] } else { ["userId", "tweetId", ""] };
            let (t, r) = (rows(d, "tweet", names), retweets());
            // As many are held back as the chains have diffs.
            let (ht, hr, order) = hold_out(d, col(d, "chainF", "userId").len());
            let (ti, ri) = match q {
                1 => (1, None),
                2 => (0, Some(1)),
                3 => (1, Some(2)),
                _ => panic!("q1..q3"),
            };
            // Diffs of a table that the view does not mention never reach an engine.
            let diff = |&(is_r, i): &(bool, usize)| {
                if is_r { ri.map(|k| (k, r[i])) } else { Some((ti, t[i])) }
            };
            let diffs = order.iter().filter_map(diff).collect();
            let keep = |v: &[Row], h: &[bool]| {
                v.iter().zip(h).filter(|(_, h)| !**h).map(|(r, _)| *r).collect::<Vec<_>>()
            };
            let (t, r) = (keep(&t, &ht), keep(&r, &hr));
            let tables = match q {
                1 => vec![followers(), t],
                2 => vec![t, r],
                _ => vec![followers(), t, r],
            };
            (tables, diffs)
        }
        W::LeftF(_) | W::Asked(..) => unreachable!(),
    };
    Data { tables, diffs, changes }
}

pub struct Args {
    pub dir: String,
    pub w: W,
    pub wname: String,
    pub batch: usize,
    pub max: usize,
    pub budget: f64,
    pub least: f64,
    pub variant: String,
}

/// usage: BIN WORKLOAD --data DIR [--batch N] [--max-diffs N] [--budget-s S] [--least-s S] [--variant V]
pub fn args() -> Args {
    let v: Vec<String> = std::env::args().skip(1).collect();
    // Options may come before the workload: those that choose a variant do.
    let at =
        (0..v.len()).find(|&i| !v[i].starts_with("--") && (i == 0 || !v[i - 1].starts_with("--")));
    let at = at.expect("WORKLOAD");
    let get = |name: &str| v.iter().position(|x| x == name).and_then(|i| v.get(i + 1));
    let number = |name: &str| get(name).map(|x| x.parse::<f64>().expect(name));
    Args {
        dir: get("--data").expect("--data DIR").clone(),
        w: parse(&v[at]),
        wname: v[at].clone(),
        batch: number("--batch").unwrap_or(1.0) as usize,
        max: number("--max-diffs").map_or(usize::MAX, |x| x as usize),
        budget: number("--budget-s").unwrap_or(60.0),
        least: number("--least-s").unwrap_or(0.0),
        variant: get("--variant").cloned().unwrap_or_default(),
    }
}

/// What the view emitted: tuples and checksum. A changed group (group, old, new) is one tuple.
#[derive(Default, Clone, Copy, Debug)]
pub struct Out {
    pub n: u64,
    pub sum: u64,
}

impl Out {
    #[inline(always)]
    pub fn row<const C: usize>(&mut self, r: &[i64; C], m: i64) {
        let mut s = 0i64;
        for (i, c) in r.iter().enumerate() {
            s = s.wrapping_add(c.wrapping_mul(i as i64 + 1));
        }
        self.sum = self.sum.wrapping_add(s.wrapping_mul(m) as u64);
        self.n += m.unsigned_abs();
    }
    /// one signed change of the aggregate relation (group, count): +1 is the new count, -1 the old
    #[inline(always)]
    pub fn agg(&mut self, g: i64, c: i64, m: i64) {
        if m > 0 {
            self.n += 1;
            self.sum = self.sum.wrapping_add(g.wrapping_add(c.wrapping_mul(3)) as u64);
        } else {
            self.sum = self.sum.wrapping_add(c.wrapping_mul(2) as u64);
        }
    }
}

/// The most memory this process has had; 0 where the system does not tell.
fn peak_mib() -> f64 {
    let s = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = s.lines().find(|l| l.starts_with("VmHWM"));
    let kib = line.and_then(|l| l.split_whitespace().nth(1)).and_then(|x| x.parse::<f64>().ok());
    kib.unwrap_or(0.0) / 1024.0
}

const SHORT_S: f64 = 0.1;
const RUNS_MAX: usize = 300;

pub struct Bench {
    start: Instant,
    run: Option<Instant>,
    load_s: f64,
    last: Vec<(usize, f64)>,
}

impl Bench {
    pub fn start() -> Self {
        Bench { start: Instant::now(), run: None, load_s: 0.0, last: Vec::new() }
    }
    pub fn loaded(&mut self) {
        self.load_s = self.start.elapsed().as_secs_f64();
        self.run = Some(Instant::now());
    }
    pub fn run_s(&self) -> f64 {
        self.run.unwrap().elapsed().as_secs_f64()
    }
    /// Notes the time after `done` diffs, for the rates of the first and the last tenth.
    pub fn mark(&mut self, done: usize) {
        self.last.push((done, self.run_s()));
    }
    /// Checked between steps: keeps a slow engine within its time, but not below 2,000 diffs.
    pub fn over(&self, a: &Args, done: usize) -> bool {
        done >= 2000 && self.run_s() > a.budget
    }
    /// Ends a run.
    pub fn ran(self, counts: (usize, usize), secs: f64, out: Out) -> Ran {
        Ran { counts, secs, out, load_s: self.load_s, last: self.last }
    }
    /// Prints the line of a system's only run.
    pub fn report(self, engine: &str, a: &Args, counts: (usize, usize), secs: f64, o: Out) {
        report(engine, a, vec![self.ran(counts, secs, o)])
    }
}

/// A run that has ended.
pub struct Ran {
    counts: (usize, usize),
    secs: f64,
    out: Out,
    load_s: f64,
    last: Vec<(usize, f64)>,
}

/// Repeats a short run, from fresh tables, as benchmarks/harness/timing.py does.
pub fn repeated(a: &Args, mut once: impl FnMut() -> Ran) -> Vec<Ran> {
    let mut runs = vec![once()];
    let mut all = runs[0].secs;
    while runs[0].secs < SHORT_S && all < a.least && runs.len() < RUNS_MAX {
        runs.push(once());
        all += runs[runs.len() - 1].secs
    }
    runs
}

/// Prints the middle run, with the speeds of all; the names are those of benchmarks/harness/record.py.
pub fn report(engine: &str, a: &Args, mut runs: Vec<Ran>) {
    let speed = |run: &Ran| format!("{:.1}", run.counts.0 as f64 / run.secs);
    let speeds = runs.iter().map(speed).collect::<Vec<_>>().join(",");
    runs.sort_by(|x, y| x.secs.total_cmp(&y.secs));
    let Ran { counts: (done, total), secs, out: o, load_s, last } =
        runs.swap_remove(runs.len() / 2);
    let mut line = format!(
        "{{\"workload\":\"{}\",\"mode\":\"each\",\"system\":\"{engine}\",\"batch\":{},\
         \"diffs\":{done},\"complete\":{},\"seconds\":{secs:.6},\"diffs_per_s\":{:.1},\
         \"speeds\":[{speeds}],\"tuples\":{},\"tuples_per_s\":{:.1},\"checksum\":\"{}\",\
         \"peak_rss_mib\":{:.1},\"load_s\":{load_s:.3}",
        a.wname,
        a.batch,
        done == total,
        done as f64 / secs,
        o.n,
        o.n as f64 / secs,
        o.sum,
        peak_mib(),
    );
    if let [first, .., before, last] = last.as_slice() {
        let rate = (last.0 - before.0) as f64 / (last.1 - before.1);
        line += &format!(
            ",\"first_tenth_per_s\":{:.1},\"last_tenth_per_s\":{rate:.1}",
            first.0 as f64 / first.1
        );
    }
    println!("{line}}}");
}
