//! Ending: one switch that everything looks at, thrown by a signal or by a failing task.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use tokio::sync::watch;

/// A switch that is thrown once.
#[derive(Debug, Clone)]
pub struct Shutdown {
    sender: Arc<watch::Sender<bool>>,
    /// For threads that compute and cannot wait.
    flag: Arc<AtomicBool>,
}

impl Default for Shutdown {
    fn default() -> Self {
        Shutdown {
            sender: Arc::new(watch::Sender::new(false)),
            flag: Arc::new(AtomicBool::new(false)),
        }
    }
}

impl Shutdown {
    /// Throws the switch.
    pub fn request(&self) {
        self.flag.store(true, Ordering::Relaxed);
        self.sender.send_replace(true);
    }

    /// Whether the switch was thrown.
    pub fn is_requested(&self) -> bool {
        self.flag.load(Ordering::Relaxed)
    }

    /// Returns once the switch is thrown.
    pub async fn requested(&self) {
        let mut receiver = self.sender.subscribe();
        // The sender lives in `self`, so waiting ends only with the value.
        let _ = receiver.wait_for(|thrown| *thrown).await;
    }

    /// Throws the switch on SIGINT (Ctrl-C) and SIGTERM; call it inside a Tokio runtime.
    ///
    /// # Errors
    /// If the system refuses the handlers.
    pub fn on_signals(&self) -> std::io::Result<()> {
        use tokio::signal::unix::{signal, SignalKind};
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let shutdown = self.clone();
        tokio::spawn(async move {
            let name = tokio::select! {
                _ = interrupt.recv() => "SIGINT",
                _ = terminate.recv() => "SIGTERM",
            };
            tracing::info!("{name}: ending");
            shutdown.request();
        });
        Ok(())
    }
}

/// Tells a computation to give up: the node ends, or whoever asked for it wants something else.
#[derive(Debug, Clone)]
pub struct Cancel {
    own: Arc<AtomicBool>,
    shutdown: Shutdown,
}

impl Cancel {
    /// Not cancelled, unless the node ends.
    pub fn new(shutdown: &Shutdown) -> Cancel {
        Cancel {
            own: Arc::new(AtomicBool::new(false)),
            shutdown: shutdown.clone(),
        }
    }

    /// Cancels.
    pub fn cancel(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Whether to give up.
    pub fn is_cancelled(&self) -> bool {
        self.own.load(Ordering::Relaxed) || self.shutdown.is_requested()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_waits_and_whoever_computes_hears_of_it() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        let shutdown = Shutdown::default();
        let (one, other) = (Cancel::new(&shutdown), Cancel::new(&shutdown));
        one.cancel();
        assert!(one.is_cancelled() && !other.is_cancelled());
        shutdown.request();
        assert!(other.is_cancelled() && shutdown.is_requested());
        // Too late to subscribe, and still told.
        runtime.block_on(shutdown.requested());
    }
}
