// Package zset is the value behind the commands of sorted sets: members, byte
// strings, each with a score, in the order of their scores and, among equal
// scores, of their bytes.
//
// The one idea: a member stands in memory once, in a leaf, and a leaf is the
// bytes of its page on disk. All leaves together are the members in order:
//
//	branch   firsts, counts ──┐        inner nodes: the first score of each child, and
//	branch ... branch ────────┤        how many members lie below it, which gives ranks
//	leaf | leaf | leaf | ...  ┘        entries in order, some dozens in a leaf
//	  ▲
//	index    hash of a member → number of its leaf, 8 bytes a member
//
// Looking a member up goes through the index, looking a score or a rank up goes
// down the branches; neither touches more than a leaf. Both are made when the pages
// are read back, but for sets under memory pressure, which store them (paging.go). A
// set of one leaf has neither, and is searched from the front.
//
// A leaf's number is the number of its page and says nothing of its place, so that
// a leaf that is split, joined or moved writes two pages and no others.
//
// It promises: no change of one member touches more than some leaves, whatever the
// size of the set; the index grows by buckets. It does not lock.
package zset
