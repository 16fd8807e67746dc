//! A tokio runtime for async tools of programs that were started outside of one. It begins with the
//! first such call.

use std::sync::OnceLock;

use tokio::runtime::{Builder, Handle, Runtime, RuntimeFlavor};

/// The runtime that a caller runs on.
pub(crate) fn current() -> Option<Handle> {
    Handle::try_current().ok()
}

/// The runtime that a caller runs on, if it goes on while the caller blocks.
pub(crate) fn unblocked() -> Option<Handle> {
    current().filter(|handle| handle.runtime_flavor() != RuntimeFlavor::CurrentThread)
}

/// The process's own runtime.
pub(crate) fn own() -> &'static Runtime {
    static OWN: OnceLock<Runtime> = OnceLock::new();
    OWN.get_or_init(|| {
        Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("ptc-async")
            .enable_all()
            .build()
            .expect("a thread for async tools can be started")
    })
}
