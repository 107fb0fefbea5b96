//! The framed door. A call is polled once where it was received: a read that finds everything in
//! memory is answered without a task of its own.

use std::sync::Arc;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Status};
use proto::method;

use super::admin;
use crate::room::{Caller, Room};

/// Takes framed calls to the room.
pub(crate) struct FramedDoor {
    room: Arc<Room>,
}

impl FramedDoor {
    pub(crate) fn new(room: Arc<Room>) -> Arc<Self> {
        Arc::new(Self { room })
    }
}

impl Handler for FramedDoor {
    fn call(&self, call: Call) -> HandlerFuture {
        let room = Arc::clone(&self.room);
        Box::pin(async move {
            if call.method == method::OM_STATE {
                return Ok(framed::message::reply(&room.state()));
            }
            if call.method == method::OM_ADMIN {
                return admin::answer_framed(&room, call.header).await;
            }
            if call.method != method::OM {
                let message = format!("OM does not serve method {}", call.method);
                return Err(Status::new(Code::Unimplemented, message));
            }
            let caller = Caller {
                ip: call.peer.ip(),
                user: None,
                call: None,
                received: call.received,
                deadline: call.deadline,
            };
            let header = room.answer(call.header, caller).await?;
            Ok(Reply { header, payload: Bytes::new() })
        })
    }
}
