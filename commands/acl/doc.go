// Package acl has users: what they may do, the rules from which that is made, the log
// of what was refused, and the commands about all of it.
//
// The one idea: a [User] is a name and an atomic pointer to [Rules], which never
// change. A client holds its user, so that the question whether it may run a call is
// one load and, for a user who may do everything, one comparison. A change of rules
// replaces the pointer; a user who is deleted gets rules that allow nothing.
//
// Rules are a list of selectors, the first of which is the user's own. A selector
// allows a call if it allows the command, every key and every channel of it. One
// selector must allow all of a call.
//
// A command is a row and a handler in commands.go or inspect.go, and calls that
// succeed and fail in a transcript of testdata. The package imports commands and no
// other family. It reads no files, no clock and no chance: see [Access] and [Files].
package acl
