// Package window shows a server to monitoring and to people, over HTTP: /metrics
// for Prometheus under the names of redis_exporter, /healthz for load balancers,
// and pages for a browser.
//
//	w, err := window.Open(srv, config, log) // obeys http-port and http-bind
//	...
//	err = w.Close() // before srv.Close
//
// The one idea: the window is a client. It asks the server over connections
// inside the process for INFO, SLOWLOG, SCHED.INFO and the like, so that there is
// one source for each figure, with the limits that hold for every client. What all
// visitors share is asked by an observer (DialObserver of package door), and what depends
// on who looks by the visitor, a user of the server (DialVisitor): what writes is
// refused to both, regardless of what a page requests.
//
// It promises:
//   - no route changes data, and what clients stored is escaped;
//   - who looks sees what the rules of a user of the server allow, at that moment;
//   - the work for a request is bounded: no keyspace, schedule or map is walked as
//     a whole, lists are cut with a note, figures are shared for a second by all
//     who ask;
//   - HTTP clients cannot block the server or fill its memory: headers,
//     connections and times are limited, and requests take turns at one
//     connection;
//   - nothing happens while no page is viewed.
//
// It does not encrypt: for access from other machines, use a proxy that does.
package window
