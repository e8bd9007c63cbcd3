//go:build !unix

package transport

import "net"

// setBacklog leaves the queue of new connections as the system makes it.
func setBacklog(net.Listener, int) error { return nil }
