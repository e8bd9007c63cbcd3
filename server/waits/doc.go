// Package waits measures how long the commands of one client make other clients
// wait. For every command of the table it has the use that costs the server
// most (Cases): a container, a value or a list of arguments of a given size,
// and the call. While the call runs, other clients ask for short things all the
// time, and the longest time that a reply took is the measure.
//
// The test of this package runs every case at 10^5 elements in seconds.
// vigil-bench runs them at full size and writes the table of
// docs/benchmarks.md. A command without a case fails the test, unless size does
// not apply to it (Sizeless).
package waits
