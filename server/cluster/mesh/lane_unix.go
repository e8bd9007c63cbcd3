//go:build unix

package mesh

import "syscall"

// writeOnce writes what a socket takes at once, and returns how many bytes it took, 0
// after an error.
func writeOnce(raw syscall.RawConn, b []byte) (n int) {
	err := raw.Write(func(fd uintptr) bool {
		n, _ = syscall.Write(int(fd), b)
		return true
	})
	if err != nil {
		return 0
	}
	return max(n, 0)
}
