// Package commands is the one table of commands: for each its name, arity,
// flags, keys, syntax, documentation and handler, in one row of the file of
// its group. Everything that depends on what a command is (dispatch, locking,
// COMMAND and COMMAND DOCS, ACL categories, statistics, docs/commands.md)
// reads the row.
//
// The one idea: a handler is a function of its arguments and a transaction. It
// reads arguments through [Args], which keeps its first error; it works on a
// [persistence.Tx] whose keys the server has locked; it writes its answer into
// [Reply] or returns an error, never both, because the server rewinds the
// reply when an error comes back. It never locks, never waits, and reads no
// clock: a handler that has to wait says so with [Ctx.Park] and is run again.
//
// What handlers need from the floor above (other clients, pub/sub,
// configuration) is named here as small interfaces that package server
// implements.
package commands
