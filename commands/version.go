package commands

import "strings"

const (
	// Version is vigil's own.
	Version = "0.2.0"
	// RedisVersion is the version of Redis whose commands and replies vigil
	// follows. Clients choose their features by it.
	RedisVersion = "8.2.0"
)

// RedisVersionNumber is RedisVersion with a byte for each part: 0x080200.
func RedisVersionNumber() (n int) {
	for part := range strings.SplitSeq(RedisVersion, ".") {
		v, _ := ParseInt([]byte(part))
		n = n<<8 | int(v)
	}
	return n
}
