// Package set holds the value of a key that is a set: different byte strings
// without an order that clients may rely on.
//
// The one idea: a member that spells an integer as Redis does is kept as a number,
// every other one as a field without value in a hash. Each member has exactly one
// place, so that a set of both kinds needs no third form, and none is ever converted
// as a whole when the first word comes to a million numbers.
//
//	integers  sorted runs of packed distances, 1 to 8 bytes a member (run.go, integers.go)
//	others    hash.Hash: one buffer, or a tree of pages
//
// It promises what package structures does: no locks, no clock, no chance of its own.
package set
