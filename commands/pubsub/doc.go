// Package pubsub has the commands about channels, patterns and shard channels.
// The server delivers the messages.
//
// A command is a row and a handler in pubsub.go, and calls that succeed and
// fail in a transcript of testdata. The package imports commands and no other
// family: what two families need belongs into commands.
package pubsub
