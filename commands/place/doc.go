// Package place has the commands about placement maps, PLACE.*. The value is in
// structures/placemap, the strategies in placement; handlers decide what is
// computed under the locks and what without them.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package place
