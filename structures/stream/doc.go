// Package stream is the value of a Redis stream: a log of entries in the order of
// their IDs, and the consumer groups that read it.
//
// The one idea: IDs only grow, so entries lie in pages that are filled one after
// the other, and the pages in one array in the order of their IDs. Finding an entry
// is a binary search among the pages and a scan of one. The bytes of a page in
// memory are those on disk, and a full page changes only by the flag of a deleted
// entry, so that adding an entry writes one page and trimming drops whole ones.
// What was delivered and not acknowledged lies in pages of records in the order of
// IDs too, one sequence for each group; a consumer lists the pages in which it has
// records.
//
// Of a large stream the pages of entries can be on disk only, but the last one. They
// keep their IDs and counts, and a method reads those that it needs first.
//
// It promises what package structures promises: a method that changes the stream
// records the change, and neither clock nor chance is used: IDs and times are
// arguments.
//
// It does not know the syntax of commands: which ID an entry gets, and what is
// replied, is the business of package commands/streams.
package stream
