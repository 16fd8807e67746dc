//! Clients hear when descriptions of tools change: by notification after `initialize`, and since 2026-07-28 on a
//! subscription of their own.

use rmcp::RoleServer;
use rmcp::model::{ServerNotification, SubscriptionFilter, ToolListChangedNotification};
use rmcp::service::SubscriptionContext;
use tokio::sync::watch::Receiver;
use tokio_util::sync::CancellationToken;

/// Tells a client of changes until it is gone.
pub async fn notify(mut changes: Receiver<u64>, peer: rmcp::Peer<RoleServer>) {
    while changes.changed().await.is_ok() {
        if peer.notify_tool_list_changed().await.is_err() {
            return;
        }
    }
}

/// What subscriptions may ask for.
pub fn accepted() -> SubscriptionFilter {
    SubscriptionFilter::builder().tools_list_changed().build()
}

/// Tells a subscription of changes until it is cancelled, or the server ends.
pub async fn listen(
    mut changes: Receiver<u64>,
    subscription: &SubscriptionContext,
    closing: &CancellationToken,
) {
    // Whoever listed tools before it subscribed may have missed changes in between.
    if *changes.borrow_and_update() > 0 {
        changes.mark_changed();
    }
    loop {
        let changed = tokio::select! {
            changed = changes.changed() => changed,
            () = subscription.cancelled() => return,
            () = closing.cancelled() => return,
        };
        let told = ServerNotification::ToolListChangedNotification(ToolListChangedNotification::default());
        if changed.is_err() || subscription.sink().send(told).await.is_err() {
            return;
        }
    }
}
