package commands

const (
	// Version is vigil's own.
	Version = "0.1.0"
	// RedisVersion is the version of Redis whose commands and replies vigil
	// follows. Clients choose their features by it.
	RedisVersion = "7.4.0"
)
