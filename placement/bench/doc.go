// Bench compares the strategies of package placement with each other and with
// public Go packages for the same purpose, and prints what it finds as a table.
// It is a module of its own so that those packages do not reach users.
//
//	go run . [-n 10,100,1000,10000] [-markdown] [-into file.md] [-figures dir]
//
// # What is measured
//
// A lookup is timed twice: with the object's hash in hand, and from its key of
// 16 bytes, hashed by the package itself or, if it takes a number, by
// placement.Hash. A time is that of the fastest of several rounds, which other
// work on the machine disturbs least. Bytes are what a strategy says of itself,
// or what a garbage-collected heap grows by when a peer is built.
//
// The layout CV is the root mean square of share/capacity - 1 over the units,
// the balance that would be left with endlessly many objects. It is exact for
// our strategies: their Moves to a map with one other unit tell each share.
// Peers are sampled, and the variance that sampling adds is subtracted.
//
// Moved over optimum is the share of objects that move when a unit joins or
// leaves over the least that any faithful strategy moves. It is exact for ours,
// over three joins and three leaves; peers are sampled with one of each.
package main
