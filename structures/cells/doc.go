// Package cells keeps arrays of bytes in pages: the slots of a cuckoo filter, the
// counters of a sketch. What such arrays have in common is that most of a large one
// is zeros for a long time, that a change is a few bytes at places that a hash
// chooses, and that one of 100 MB must be neither written nor read for that.
//
// A value has a [Stack] of arrays, each with its size from the beginning, as a
// cuckoo filter has sub-filters; a sketch has one array. A page is made when a byte of it
// is first set. The zeros at its end are cut off, so that an array that
// fills from the front, such as the centroids of a t-digest, takes what it holds.
// Few bytes stand in the head of the value, others in pages of 4 KiB, any of
// which can be on disk only. A Stack is embedded: it implements those methods of
// structures.Paged that are about pages.
//
// A page that cannot be read is zeros for whoever reads it, and is not changed by
// whoever writes. Before a change that must be made whole or not at all a value fetches
// the pages that it needs; if it learns which on the way, Begin and Undo put
// back what was changed.
//
// A Stack does not lock, and must not be copied.
package cells
