// Package check reads all that a store, or a snapshot, has on disk, and reports what is wrong
// with it: vigil-server --check.
//
// The one idea: it goes from the outside inwards, past what is damaged: files against
// the mark, blocks of tables against their checksums, keys against each other.
//
// It owns nothing, writes nothing, and takes the lock of the store, if there is one: no server
// may have the store open. It reads through packages wal, lsm and format what the store itself
// reads through them.
package check
