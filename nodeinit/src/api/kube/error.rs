//! Why a request to the API did not succeed.

use super::types::Status;
use crate::api::connection::HttpError;
use hyper::StatusCode;

/// Why a request to the API did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ApiError {
    /// There was no answer.
    #[error(transparent)]
    Http(#[from] HttpError),
    /// The API refused.
    #[error("the API server answered {status} to {request}: {message}")]
    Refused {
        /// The HTTP status.
        status: StatusCode,
        /// Method and path.
        request: String,
        /// The API's own words.
        message: String,
    },
    /// A kubeconfig that cannot be used.
    #[error("{what} of the kubeconfig: {reason}")]
    Kubeconfig {
        /// Which part.
        what: &'static str,
        /// What is wrong with it.
        reason: String,
    },
    /// An object that cannot be applied.
    #[error("{object}: {reason}")]
    Object {
        /// Kind and name.
        object: String,
        /// What is wrong with it.
        reason: String,
    },
    /// An answer that is not what the API promises.
    #[error("the API server's answer to {request} cannot be read: {reason}")]
    Answer {
        /// Method and path.
        request: String,
        /// What is wrong with it.
        reason: String,
    },
}

impl ApiError {
    /// An answer that is no success, with the API's own words where it has some.
    pub(super) fn refused(status: StatusCode, request: String, answer: &[u8]) -> Self {
        let message = match serde_json::from_slice::<Status>(answer) {
            Ok(Status { message: Some(message), .. }) => message,
            _ => String::from_utf8_lossy(answer).trim().to_owned(),
        };
        Self::Refused { status, request, message }
    }

    /// Whether the object or the resource is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.is_refused_with(StatusCode::NOT_FOUND)
    }

    /// Whether the API refused with this status.
    pub(super) fn is_refused_with(&self, wanted: StatusCode) -> bool {
        matches!(self, Self::Refused { status, .. } if *status == wanted)
    }

    /// Whether trying again may help: no answer, too busy, or not ready yet.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Http(HttpError::TooLong { .. }) => false,
            Self::Http(error) => !error.is_untrusted(),
            // The address of a Service whose creation was interrupted is released a moment later, or the Service is there.
            Self::Refused { status: StatusCode::UNPROCESSABLE_ENTITY, message, .. } => {
                message.contains("already allocated")
            }
            Self::Refused { status, .. } => {
                matches!(status.as_u16(), 403 | 404 | 409 | 429) || status.is_server_error()
            }
            _ => false,
        }
    }
}
