// Jobqueue is an example: a queue of jobs on a stream, with go-redis, for vigil or
// any Redis from 6.2 on.
//
//	go run .                       # a server in memory, inside the process
//	go run . -addr localhost:6379
//
// A job is an entry of a stream. Workers are consumers of one group: XREADGROUP
// gives each job to one of them, and the job stays pending until the worker is done
// with it.
//
//   - A job is done at least once. That of a worker that failed or crashed is claimed
//     by another one when Lease has passed, so handlers must bear to run again.
//   - A job that was tried Tries times goes to a second stream, where someone
//     can look at it.
//   - A job for later waits in a sorted set until the server's clock says that it is due.
//   - What was done leaves the stream, whose length is thus the number of open jobs.
package main
