// Package zsets has the commands about sorted sets, the blocking ones included: a
// handler that finds nothing parks its call, and the server runs it again after a
// member was added.
//
// A range, by rank, score or member, becomes a rank and a count before anything is
// looked at or removed (bounds.go), so that every command that takes ranges has the
// same few lines behind them.
//
// A command is a row and a handler in one of these files, and calls that succeed and
// fail in a transcript of testdata. Errors that only these commands return are in
// errors.go. The package imports commands and no other family: what two families need
// belongs into commands.
package zsets
