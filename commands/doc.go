// Package commands is the kernel that all families of commands share: what a
// command is, the table of them, arguments, replies, the context of a call,
// errors that several families return, and the commands that describe commands
// (COMMAND, HELP).
//
// The commands themselves are in the folders of their families, each a package
// that imports this one and no other family; package groups lists them. A command
// is one row: name, arity, flags, keys, syntax, documentation and handler.
// Everything that depends on what a command is (dispatch, locking, COMMAND DOCS,
// ACL categories, statistics, docs/commands.md) reads the row.
//
// The one idea: a handler is a function of its arguments and a transaction. It
// reads arguments through [Args], which keeps its first error; it works on a
// [persistence.Tx] whose keys the server has locked; it writes its reply into
// [Reply] or returns an error, never both, because the server rewinds the
// reply when the handler fails. It never locks, never waits, and reads no
// clock: a handler that has to wait calls [Ctx.Park] and is run again.
//
// What handlers need from the server is declared as small interfaces that package
// server implements: [Host] here, for all families, and others beside the handlers
// of the one family that uses them.
package commands
