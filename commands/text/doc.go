// Package text has the commands about strings: GET and SET with their
// relatives, numbers in strings, ranges, LCS. Redis calls the group string; a
// package of that name would hide the type.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package text
