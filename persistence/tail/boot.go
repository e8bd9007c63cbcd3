package tail

import (
	"crypto/sha256"
	"errors"
	"os"
	"strings"
)

// BootID returns what tells one boot of the machine from another. It is an error where the system
// does not say.
func BootID() (id [16]byte, err error) {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return id, err
	}
	text := strings.TrimSpace(string(b))
	if text == "" {
		return id, errors.New("boot_id is empty")
	}
	sum := sha256.Sum256([]byte(text))
	return [16]byte(sum[:16]), nil
}
