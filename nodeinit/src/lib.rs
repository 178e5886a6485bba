//! Turns a bare machine into a Kubernetes master or worker.
