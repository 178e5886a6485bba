//! What is there by now; who needs something waits for it here.

use crate::resources::{Found, Part};
use std::{cell::RefCell, collections::HashMap, rc::Rc};
use tokio::sync::Notify;

/// Parts that are there, and parts that will not come.
#[derive(Default)]
pub(super) struct Made {
    parts: RefCell<HashMap<Part, Option<Rc<Found>>>>,
    news: Notify,
}

impl Made {
    pub(super) fn add(&self, part: Part, found: Found) {
        self.parts.borrow_mut().insert(part, Some(Rc::new(found)));
        self.news.notify_waiters();
    }

    /// It will not come; what is there already stays.
    pub(super) fn fail(&self, part: &Part) {
        self.parts.borrow_mut().entry(part.clone()).or_insert(None);
        self.news.notify_waiters();
    }

    pub(super) fn get(&self, part: &Part) -> Option<Rc<Found>> {
        self.parts.borrow().get(part).cloned().flatten()
    }

    /// All that is there.
    pub(super) fn all(&self) -> Vec<Found> {
        self.parts.borrow().values().flatten().map(|found| Found::clone(found)).collect()
    }

    /// Until the part is there. `Err`: it will not come.
    pub(super) async fn wait(&self, part: &Part) -> Result<Rc<Found>, ()> {
        loop {
            // Registered before looking, so that no news is missed.
            let news = self.news.notified();
            if let Some(known) = self.parts.borrow().get(part).cloned() {
                return known.ok_or(());
            }
            news.await;
        }
    }
}
