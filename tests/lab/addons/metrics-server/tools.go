//go:build tools

// Package tools pins what the lab builds.
package tools

import _ "sigs.k8s.io/metrics-server/cmd/metrics-server"
