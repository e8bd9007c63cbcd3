// Package recipes holds what docs/session-store.md shows: the code of its recipes,
// as it stands there, with tests against a server. It speaks to any server with the
// commands, through go-redis.
package recipes
