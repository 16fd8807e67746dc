//! What a deployment lends programs: preludes, and discovery of what is there.

mod discovery;
