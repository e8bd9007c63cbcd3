// Package slab keeps small records outside the Go heap, where the garbage
// collector neither scans nor doubles them.
//
// The one idea: memory is asked of the system in big regions, which are cut into
// pages of 32 KiB, and each page into records of one size class. A [Pool] has the
// regions and hands out pages; an [Arena] allocates the records of one table from
// pages of its own, so that dropping the table frees pages and not records.
//
// A record is named by its location, the number of its first 8-byte granule
// counted over all regions: [LocationBits] bits name 128 GiB. Location 0 is never
// handed out.
//
// It promises that a record stays at its address until it is released, and that
// its memory holds arbitrary bytes when it is allocated. It keeps neither the
// length of a record nor the class: the caller knows them and says the same
// length to Alloc and Release.
//
// A pool may be used by many goroutines, an arena by one at a time. Package slab
// knows nothing of keys, values or tables.
package slab
