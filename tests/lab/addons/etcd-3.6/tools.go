//go:build tools

// Package tools names the etcd that an upgrade to Kubernetes 1.37 passes through.
package tools

import _ "go.etcd.io/etcd/server/v3"
