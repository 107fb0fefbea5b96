//! The framed endpoint. A call is polled once where it was received: a read that finds everything
//! in memory is answered without a task of its own.

use std::sync::Arc;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Status};
use proto::method;
use service::BackgroundServices;

use super::{admin, background, deletion_status};
use crate::dispatch::{Caller, Dispatcher};

/// Takes framed calls to the dispatcher.
pub(crate) struct FramedHandler {
    dispatcher: Arc<Dispatcher>,
    services: BackgroundServices,
}

impl FramedHandler {
    pub(crate) fn new(dispatcher: Arc<Dispatcher>, services: BackgroundServices) -> Arc<Self> {
        Arc::new(Self { dispatcher, services })
    }
}

impl Handler for FramedHandler {
    fn call(&self, call: Call) -> HandlerFuture {
        if call.method == method::BACKGROUND_SERVICES {
            let answer = background::answer(&self.dispatcher, &self.services, call.header);
            return Box::pin(std::future::ready(answer));
        }
        let dispatcher = Arc::clone(&self.dispatcher);
        if call.method == method::DELETION_STATUS {
            let services = self.services.clone();
            return Box::pin(async move {
                deletion_status::answer(&dispatcher, &services, call.header).await
            });
        }
        Box::pin(async move {
            if call.method == method::OM_STATE {
                return Ok(framed::message::reply(&dispatcher.state()));
            }
            if call.method == method::OM_ADMIN {
                return admin::answer_framed(&dispatcher, call.header).await;
            }
            if call.method != method::OM {
                let message = format!("OM does not serve method {}", call.method);
                return Err(Status::new(Code::Unimplemented, message));
            }
            let caller = Caller {
                is_om: false,
                ip: call.peer.ip(),
                user: None,
                call: None,
                received: call.received,
                deadline: call.deadline,
            };
            let header = dispatcher.answer(call.header, caller).await?;
            Ok(Reply { header, payload: Bytes::new() })
        })
    }
}
