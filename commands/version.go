package commands

import "strings"

const (
	// Version is vigil's own.
	Version = "0.2.0"
	// RedisVersion is the version of Redis whose commands and replies vigil
	// follows. Clients choose their features by it.
	RedisVersion = "8.8.0"
)

// VersionNumber is a version with a byte for each of its three parts: 0x080200 for "8.2.0"; 0 for what
// is none.
func VersionNumber(version string) (n int) {
	parts := 0
	for part := range strings.SplitSeq(version, ".") {
		v, ok := ParseInt([]byte(part))
		if !ok || v < 0 || v > 255 {
			return 0
		}
		n = n<<8 | int(v)
		parts++
	}
	if parts != 3 {
		return 0
	}
	return n
}
