// Package sched has the commands about schedules, SCHED.*. The state is in
// structures/schedule, the mathematics of policies in scheduler; handlers read
// arguments, call them and translate errors.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package sched
