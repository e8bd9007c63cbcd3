// Package hash holds the value of a key that is a hash: fields with values, and expiry
// of single fields.
//
// A small hash is one buffer (packed.go); a larger one is a tree of segments in the
// order of the hashes of its fields (table.go), which are its pages on disk.
package hash
