//! One list that many wait on: servers and volumes are asked for together, however many are waited for.

use super::{Client, Service};
use crate::error::ApiError;
use serde_json::Value;
use std::{collections::HashMap, rc::Rc, time::Duration};
use tokio::{sync::Mutex, time::Instant};

/// What a list said, by id.
pub type Objects = Rc<HashMap<String, Value>>;

/// A list that is fetched at most once in a while.
pub struct Listing<'c> {
    client: &'c Client,
    service: Service,
    path: String,
    key: &'static str,
    pause: Duration,
    last: Mutex<Option<Last>>,
}

struct Last {
    asked: Instant,
    answered: Instant,
    objects: Objects,
}

impl<'c> Listing<'c> {
    /// A list that is requested again only when `pause` has passed since its answer.
    pub fn new(client: &'c Client, service: Service, path: &str, key: &'static str, pause: Duration) -> Self {
        Self { client, service, path: path.to_owned(), key, pause, last: Mutex::new(None) }
    }

    /// The list as it was at `since` or later.
    ///
    /// # Errors
    /// As the service says.
    pub async fn since(&self, since: Instant) -> Result<Objects, ApiError> {
        // Who comes while the list is being fetched waits for the lock, and then finds it fresh.
        let mut last = self.last.lock().await;
        if let Some(last) = &*last {
            if last.asked >= since {
                return Ok(Rc::clone(&last.objects));
            }
            tokio::time::sleep_until(last.answered + self.pause).await;
        }
        let asked = Instant::now();
        let items = self.client.list(self.service, &self.path, self.key).await?;
        let by_id = |item: Value| Some((item["id"].as_str()?.to_owned(), item));
        let objects: Objects = Rc::new(items.into_iter().filter_map(by_id).collect());
        *last = Some(Last { asked, answered: Instant::now(), objects: Rc::clone(&objects) });
        Ok(objects)
    }
}
