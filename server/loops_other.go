//go:build !linux

package server

import "net"

// pollingAPI is what INFO says of how clients are served.
const pollingAPI = "goroutines"

// loops are for Linux; elsewhere each client has a goroutine.
type loops struct{}

func (srv *Server) startLoops(int) error { return nil }

func (srv *Server) endLoops() {}

func (srv *Server) transport(nc net.Conn) (endpoint, func(*session)) {
	return srv.goroutineTransport(nc)
}
