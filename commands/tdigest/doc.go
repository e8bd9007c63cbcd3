// Package tdigest has the commands of RedisBloom about t-digests. Its errors begin with
// "ERR T-Digest"; clients recognize them by their text.
//
// A command is a row and a handler in one of these files, and calls that
// succeed and fail in a transcript of testdata. Errors that only these commands
// return are in errors.go. The package imports commands and no other family:
// what two families need belongs into commands.
package tdigest
