//! Results of tools, kept by canonical key.
