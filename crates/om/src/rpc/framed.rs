//! The framed endpoint. A call is polled once where it was received: a read of cached data is
//! answered without a task of its own.

use std::future::ready;
use std::sync::Arc;

use bytes::Bytes;
use framed::{Call, Code, Handler, HandlerFuture, Reply, Status};
use proto::method;
use service::BackgroundServices;

use super::{admin, background, deletion_status};
use crate::dispatch::{self, Caller, Dispatcher};

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
            return Box::pin(ready(answer));
        }
        let dispatcher = Arc::clone(&self.dispatcher);
        match call.method {
            method::OM => request(dispatcher, call),
            method::DELETION_STATUS => {
                let services = self.services.clone();
                Box::pin(async move {
                    deletion_status::answer(&dispatcher, &services, call.header).await
                })
            }
            method::OM_STATE => Box::pin(ready(Ok(framed::message::reply(&dispatcher.state())))),
            method::OM_ADMIN => {
                Box::pin(async move { admin::answer_framed(&dispatcher, call.header).await })
            }
            _ => {
                let message = format!("OM does not serve method {}", call.method);
                Box::pin(ready(Err(Status::new(Code::Unimplemented, message))))
            }
        }
    }
}

/// Decoded before the future of its work is made, which is as small as can be: it is on the way of
/// each lookup.
fn request(dispatcher: Arc<Dispatcher>, call: Call) -> HandlerFuture {
    let request = match dispatch::decode(call.header) {
        Ok(request) => request,
        Err(status) => return Box::pin(ready(Err(status))),
    };
    let caller = Caller {
        is_om: false,
        ip: call.peer.ip(),
        user: None,
        call: None,
        received: call.received,
        deadline: call.deadline,
    };
    Box::pin(async move {
        let header = dispatcher.submit(request, caller).await?;
        Ok(Reply { header, payload: Bytes::new() })
    })
}
