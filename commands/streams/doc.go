// Package streams has the commands about streams and their consumer groups, the
// blocking ones included.
//
// A call works on one or more values of package structures/stream. This package
// reads arguments, decides which ID an entry gets, tells what changed, and writes
// replies; long ones behind the locks, from pages that the stream lends.
//
// It imports the kernel and no other family.
package streams
