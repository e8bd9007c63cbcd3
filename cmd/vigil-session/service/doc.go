// Package service is the session microservice: it hears what visitors do on
// channels, keeps what can be computed from it, and answers on lists.
//
// One connection subscribes. What it hears goes at once into the queue of one
// of several workers, chosen by the session: requests of one session are worked
// on in the order in which they came, and never by two workers. A worker takes
// what waits, one request of each session in turn, sends the work of all in one
// pipeline, and then the answers. So load makes pipelines longer, not queues.
//
// Nothing waits without a bound: a full queue, and a session with too much
// waiting, lose the newest request, which is counted; the page is served in
// degraded mode. A request that is older than the budget is not answered, since
// its page has gone; a page view is counted nevertheless.
//
// Nothing is sent twice: after a connection failed it is not known whether a
// page view was counted, and an answer that is missing costs less than a page
// that counts twice.
package service
