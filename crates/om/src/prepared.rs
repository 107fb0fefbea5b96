//! While OM is prepared for another version its log holds nothing that its tables do not hold durably:
//! what is prepared is flushed and trimmed, on every OM and also after a restart.

use std::sync::Arc;

use service::Shutdown;

use crate::room::Room;

/// Trims the log whenever OM is prepared, until `shutdown`.
pub(crate) fn watch(room: &Arc<Room>, shutdown: &Shutdown) {
    let (room, stop) = (Arc::clone(room), shutdown.clone());
    tokio::spawn(async move {
        let mut prepared = room.parts().prepared.clone();
        let watch = async {
            loop {
                let now = *prepared.borrow_and_update();
                if let Some(index) = now {
                    tracing::info!(index, "OM is prepared: writes are refused, the log is trimmed");
                    room.parts().group.trim_to(index);
                }
                if prepared.changed().await.is_err() {
                    return;
                }
            }
        };
        stop.until(watch).await;
    });
}
