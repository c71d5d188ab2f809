//! Prefetching: a value that is read soon is brought into the cache, so that nothing waits for it. No value changes.
//!
//! The instruction needs `unsafe`, which is in the crate `prefetch-index` alone. On processors without one nothing happens.

/// Brings the first bytes of a value, a cache line, into the cache.
#[inline(always)]
pub fn prefetch<T>(value: &T) {
    prefetch_index::prefetch_index(std::slice::from_ref(value), 0);
}

/// The same of a value in a slice. Nothing happens if there is none.
#[inline(always)]
pub fn prefetch_at<T>(values: &[T], index: usize) {
    prefetch_index::prefetch_index(values, index);
}
