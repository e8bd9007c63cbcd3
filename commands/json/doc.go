// Package json has the commands of RedisJSON. Some of its errors begin with ERR and some do not;
// clients recognize them by their text.
//
// Paths are of two dialects, and the reply of a command depends on that: to a JSONPath an element
// for each match, to a legacy path the reply for one value. A change of many matches is made at all
// of them or at none: what can fail is found out before the first.
//
// A command is a row and a handler in one of these files, and calls that succeed and fail in a
// transcript of testdata. Errors that only these commands return are in errors.go. The package
// imports commands and no other family: what two families need belongs into commands.
package json
