// Package keys has the commands about keys of any type: deletion, renaming and
// copies, expiry, SCAN, DUMP and RESTORE, OBJECT, WAIT. Redis calls the group
// generic.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package keys
