// Package geo has the commands about places: members of sorted sets whose scores are
// coordinates.
//
// A score interleaves 26 bits of latitude and 26 of longitude (point.go), so that places
// with the same first bits are a cell of a grid and a range of scores. A search looks at
// the cell of its centre and at those around it, at a level at which they cover the area
// (area.go), and measures the distance of each member there.
//
// A command is a row and a handler in one of these files, and calls that succeed and
// fail in a transcript of testdata. Errors that only these commands return are in
// errors.go. The package imports commands and no other family: what two families need
// belongs into commands.
package geo
