//! While OM is prepared for another version, its log holds nothing that its tables do not hold
//! durably: prepared state is flushed and the log trimmed, on every OM and also after a restart.

use std::sync::Arc;

use service::Shutdown;

use crate::dispatch::Dispatcher;

/// Trims the log whenever OM is prepared, until `shutdown`.
pub(crate) fn watch(dispatcher: &Arc<Dispatcher>, shutdown: &Shutdown) {
    let (dispatcher, stop) = (Arc::clone(dispatcher), shutdown.clone());
    tokio::spawn(async move {
        let mut prepared = dispatcher.parts().prepared.clone();
        let watch = async {
            loop {
                let now = *prepared.borrow_and_update();
                if let Some(index) = now {
                    tracing::info!(index, "OM prepared: refusing writes, log trimmed");
                    dispatcher.parts().group.trim_to(index);
                }
                if prepared.changed().await.is_err() {
                    return;
                }
            }
        };
        stop.until(watch).await;
    });
}
