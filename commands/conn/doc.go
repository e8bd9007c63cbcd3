// Package conn has the commands about the connection of the client: HELLO,
// AUTH, SELECT and CLIENT, and transactions, which the server runs.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package conn
