// Package server is vigil as a part of a program: listeners, clients, the life of a
// command, clients that wait, publish and subscribe, configuration and
// statistics.
//
//	srv, err := server.Open(ctx, server.Options{Dir: "data", MaxMemory: 1 << 30})
//	...
//	err = srv.Serve(listener) // until srv.Close
//
// [Server.Dial] connects a client without a socket. Package server/servertest runs servers for tests,
// server/metrics reports one to Prometheus. docs/embedding.md says more, and what each part costs.
//
// The one idea: a client is a state machine ([session]) that is fed with bytes
// and never waits. It belongs to one goroutine; what other clients send it
// waits in its outbox. A command that has to wait is parked and run again when
// its keys change, so that thousands of waiting clients cost no goroutine of
// their own and a client that leaves is noticed at once.
//
// It promises Redis's order: what a client can observe is as if one command ran
// at a time, and a waiting client is served before any other client sees
// what it waited for. It does not know what commands do: that is package
// commands; nor how data is stored: that is package persistence.
package server
