// Package lists has the commands about lists, the blocking ones included: a
// handler that finds nothing parks its call, and the server runs it again after
// a push.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package lists
