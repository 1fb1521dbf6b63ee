//! `generate`: streams of some ten million operations, laid down from a seed as the parent of a run does.
//!
//! `cargo bench -p harness --profile dev --bench generate`
//!
//! Random numbers are drawn on all cores; what follows from them one after the other, as what a hold takes next,
//! is not. The figure has no truth in it: the reference answers each operation afterwards, in the parent.

#![allow(missing_docs)]

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use harness::workload::resolve;

const STREAMS: [(&str, u64); 4] = [
    ("grow-random", 10_000_000),
    ("hold:holds=1,warm_up=1", 1_000_000),
    ("tcp:operations=10m", 10_000),
    ("cancel-storm-97", 3_000_000),
];

fn generate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generate");
    group.sample_size(10).sampling_mode(SamplingMode::Flat);
    for (selector, n) in STREAMS {
        let workload = resolve(selector).expect("a built-in workload").remove(0);
        let operations = workload.stream(n, 1).expect("a size that can be").ops.len();
        group.throughput(Throughput::Elements(operations as u64));
        group.bench_function(selector, |bencher| {
            bencher.iter_with_large_drop(|| workload.stream(n, 1).expect("a size that can be"));
        });
    }
}

criterion_group!(benches, generate);
criterion_main!(benches);
