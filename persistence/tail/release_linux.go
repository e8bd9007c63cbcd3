package tail

import (
	"os"
	"syscall"
)

// Release implements Releaser. The pages are those of a file, which the system keeps as long as it likes.
func (m mapping) Release(from, to int) {
	size := os.Getpagesize()
	from, to = (from+size-1)/size*size, to/size*size
	if from < to {
		_ = syscall.Madvise(m[from:to], syscall.MADV_DONTNEED)
	}
}
