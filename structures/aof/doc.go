// Package aof reads the append-only files of Redis and Valkey: the manifest that says which
// files there are, and the commands in them.
//
// The one idea: a file is commands in the form in which clients send them, one behind the
// other, and whatever state it leads to is up to those who run them. The package knows what
// is whole: a command that is cut short at the end is an error of its own, [ErrTorn],
// with the place at which the last whole one ended.
//
// It allocates nothing because a file claims it, does no input but through the reader that
// it is given, and knows no command.
package aof
