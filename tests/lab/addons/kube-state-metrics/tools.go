//go:build tools

// Package tools pins what the lab builds.
package tools

import _ "k8s.io/kube-state-metrics/v2"
