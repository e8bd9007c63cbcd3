// Package format is what a store has on disk, byte by byte: the keys in Pebble, heads,
// chunks of the journal and the records in them, pieces, staged pages, lists of keys that
// expire, texts, and what a store knows about itself. docs/format.md draws it.
//
// The one idea: everything that is written or read goes through here, so that one package
// says what a store may look like, and what reads a store without opening it (package
// check) reads the same as what opens it.
//
// It owns no state and waits for nothing. Functions that append return the longer slice;
// functions that decode alias what they are given, unless they say otherwise, and return
// [ErrCorrupt] for what was never written and [ErrVersion] for what a later version wrote.
// It reads through the small interface that [ReadChunk] takes, and does not know Pebble. Of
// the types of values it knows the table, to decode them.
package format
