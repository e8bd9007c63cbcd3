package main

import (
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/vigildb/vigil/server"
	"github.com/vigildb/vigil/server/activation"
	"github.com/vigildb/vigil/server/conf"
)

// secureName is what the unit of a socket whose clients speak TLS calls it (FileDescriptorName=).
const secureName = "tls"

// inherit takes over the sockets that systemd holds for the server, if it holds any.
func inherit(set *conf.Settings, log *slog.Logger) ([]server.Inherited, error) {
	sockets, err := activation.Take()
	if err != nil {
		return nil, err
	}
	var held []server.Inherited
	for _, s := range sockets {
		secure, port := s.Name == secureName, set.Port
		if secure {
			port = set.TLSPort
			if port == 0 {
				return nil, fmt.Errorf("the socket %s is for TLS, and tls-port is 0: set it to the port of the socket, and the certificate", s.Addr())
			}
		}
		log.Info("the supervisor holds the socket " + describe(s.Addr()))
		if tcp, ok := s.Addr().(*net.TCPAddr); ok && tcp.Port != port {
			log.Warn(fmt.Sprintf("the socket %s is at another port than the configuration has, %d, which other servers are told", s.Addr(), port))
		}
		held = append(held, server.Inherited{Listener: s.Listener, Secure: secure})
	}
	return held, nil
}

// heldPatience is patience for sockets that are held: their clients wait as if the machine were slow, and get no -LOADING.
const heldPatience = 15 * time.Second

func patienceFor(held []server.Inherited) time.Duration {
	if len(held) > 0 {
		return heldPatience
	}
	return patience
}
