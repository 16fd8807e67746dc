//! Small statistics.

use std::time::Instant;

/// The middle of some figures; NaN if there are none.
pub fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The median time of a piece of work in nanoseconds.
pub fn median_of(repeats: usize, mut work: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..repeats.max(1))
        .map(|_| {
            let started = Instant::now();
            work();
            started.elapsed().as_nanos() as f64
        })
        .collect();
    median(&mut times)
}
