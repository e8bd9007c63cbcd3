// Package report asks a server for what it reports about itself, and makes metrics of that, for
// server/window and server/metrics.
//
// The one idea: whoever looks at a server is a client of it. There is one source for each figure, what the
// server replies to INFO, SLOWLOG and the like, with the limits that hold for every client; those who ask
// within a second share the reply.
package report
