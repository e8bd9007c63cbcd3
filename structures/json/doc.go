// Package json holds JSON documents: their encoding, the parser and the printer of texts, and
// the changes of a document.
//
// The one idea: a value is a run of bytes in which every string, array and object says how long
// it is. A reader finds a member by skipping those before it, and nothing is made of a document
// to answer for a part of it. encoding.go draws the bytes.
//
// A document of up to some kilobytes is one such run. In a larger one, each string, array or
// object of more than nearBytes lies in a chain: a sequence of pages, each of which has some of
// its members. A change of a member rewrites one page, and pages can be on disk only
// ([structures.Paged]). Chains hang in chains; a page has the number of the chain in place of
// such a value.
//
// Changes are recorded as operations on one place: a path of names and indexes, and what becomes
// of it there. Whatever chose the place, a query or arithmetic, is done when the operation is
// recorded, so that its replay is the same on every machine.
//
// Package path finds places. The package promises no order in which changes of many places are
// to be made: commands choose one in which an earlier change does not move a later place.
package json
