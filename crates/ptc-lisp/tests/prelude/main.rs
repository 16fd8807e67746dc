//! What a deployment lends programs: preludes, and discovery of what is there.

mod bundles;
mod compile;
mod discovery;
mod doctests;
mod exports;
mod requires;
mod running;
mod support;
mod suspended;
mod troubleshooting;
