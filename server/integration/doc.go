// Package integration drives a vigil server with go-redis, as applications
// would. It is a module of its own so that go-redis does not reach programs
// that only use vigil.
package integration
