//! Responses to the caller of a container command.

use bytes::Bytes;
use prost::Message;
use proto::datanode::{
    ContainerCommandRequestProto, ContainerCommandResponseProto, Result as ResultCode,
};

use containerstore::StorageError;

/// A response message, decoded or not: what a Raft group answers is already encoded.
#[derive(Debug)]
pub enum Response {
    /// Encoded.
    Encoded(Bytes),
    /// Decoded.
    Message(Box<ContainerCommandResponseProto>),
}

/// A response, with the chunk bytes separate from the message.
#[derive(Debug)]
pub struct Answer {
    /// The message.
    pub response: Response,
    /// The chunk bytes.
    pub payload: Bytes,
}

impl Answer {
    /// An answer of just a message.
    pub fn message(message: ContainerCommandResponseProto) -> Self {
        Self::with_payload(message, Bytes::new())
    }

    /// Creates a response of a message and separate chunk bytes.
    pub fn with_payload(message: ContainerCommandResponseProto, payload: Bytes) -> Self {
        Self { response: Response::Message(Box::new(message)), payload }
    }

    /// A message that is encoded already.
    pub fn encoded(bytes: Bytes) -> Self {
        Self { response: Response::Encoded(bytes), payload: Bytes::new() }
    }

    /// The encoded message.
    pub fn encode(&self) -> Bytes {
        match &self.response {
            Response::Encoded(bytes) => bytes.clone(),
            Response::Message(message) => message.encode_to_vec().into(),
        }
    }

    /// The decoded message.
    ///
    /// # Errors
    /// When a Raft group answered something that is no response.
    pub fn decode(self) -> Result<ContainerCommandResponseProto, prost::DecodeError> {
        match self.response {
            Response::Encoded(bytes) => ContainerCommandResponseProto::decode(bytes),
            Response::Message(message) => Ok(*message),
        }
    }

    /// Returns `true` if the command succeeded. Reads the result of an encoded response without
    /// decoding the rest of it.
    pub fn is_success(&self) -> bool {
        match &self.response {
            Response::Encoded(bytes) => super::peek::result(bytes) == Some(ResultCode::Success),
            Response::Message(message) => message.result() == ResultCode::Success,
        }
    }
}

/// Failure of a command, in Ozone's terms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{code:?}: {message}")]
pub struct Failure {
    /// Ozone's result code.
    pub code: ResultCode,
    /// Text for the operator.
    pub message: String,
}

impl Failure {
    /// From its parts.
    pub fn new(code: ResultCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// A message lacks what its command needs, or has nonsense in it.
    pub fn malformed(message: impl Into<String>) -> Self {
        Self::new(ResultCode::MalformedRequest, message)
    }

    /// Returns `true` if the disk of this replica is the reason, not the command.
    pub fn is_of_the_disk(&self) -> bool {
        matches!(
            self.code,
            ResultCode::DiskOutOfSpace
                | ResultCode::IoException
                | ResultCode::UnableToReadMetadataDb
                | ResultCode::ContainerMetadataError
                | ResultCode::ContainerInternalError
        )
    }

    /// Returns `true` if a retry may succeed: the disk was full, or a member could not be reached.
    pub fn may_pass(&self) -> bool {
        matches!(
            self.code,
            ResultCode::DiskOutOfSpace
                | ResultCode::UnableToFindChunk
                | ResultCode::NoSuchBlock
                | ResultCode::IoException
        )
    }

    /// Returns `true` if the block or container does not exist here.
    pub fn is_gone(&self) -> bool {
        matches!(
            self.code,
            ResultCode::NoSuchBlock | ResultCode::ContainerNotFound | ResultCode::ContainerMissing
        )
    }

    /// Returns the response that reports it.
    pub fn response(&self, to: &ContainerCommandRequestProto) -> ContainerCommandResponseProto {
        ContainerCommandResponseProto {
            result: self.code as i32,
            message: Some(self.message.clone()),
            ..success(to)
        }
    }
}

impl From<StorageError> for Failure {
    fn from(error: StorageError) -> Self {
        Self::new(error.result(), error.to_string())
    }
}

/// The frame of a successful response; the command's own part is added to it.
pub fn success(to: &ContainerCommandRequestProto) -> ContainerCommandResponseProto {
    ContainerCommandResponseProto {
        cmd_type: to.cmd_type,
        trace_id: to.trace_id.clone(),
        result: ResultCode::Success as i32,
        ..Default::default()
    }
}
