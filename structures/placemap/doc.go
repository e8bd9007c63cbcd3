// Package placemap is the value of the PLACE commands: a placement map under a
// key.
//
// The one idea: a map is a function of its history, and the history is what is
// recorded. Set and Remove record what the caller asked for, some tens of bytes
// a unit, never the table that comes of it; package placement promises that
// equal states and equal changes give equal states, on every machine, so that
// replay ends with the same table. The whole state, history included, is
// what AppendHead writes and Decode reads.
//
// States. What a map is between two changes is a State, which many may
// read at once. Lend gives one away for work off the locks: it stays as it is
// until its last holder releases it, and the next change is made to a copy.
//
// It promises: an operation that returns an error has changed nothing. It does
// not lock: a map is used by one goroutine at a time, only its States by many.
package placemap
