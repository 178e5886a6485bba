//go:build tools

// Package tools pins what the lab builds.
package tools

import _ "github.com/rancher/local-path-provisioner"
