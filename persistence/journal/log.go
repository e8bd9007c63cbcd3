package journal

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
)

// Log is the sizes of the chunks that are stored. The zero value is empty.
type Log struct {
	bytes atomic.Int64 // sum of the sizes of chunks

	mu struct {
		sync.Mutex
		chunks []stored // in order
	}
}

// Bytes returns the sum of the sizes.
func (l *Log) Bytes() int64 { return l.bytes.Load() }

// Add adds the next chunk: its last record, its size in bytes, and the file that has it, or an earlier one.
func (l *Log) Add(last uint64, size int64, file uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.chunks = append(l.mu.chunks, stored{last, size, file})
	l.bytes.Add(size)
}

// File returns the file of the chunk that ends with record last, 0 if that is not known.
func (l *Log) File(last uint64) uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, ok := slices.BinarySearchFunc(l.mu.chunks, last, func(c stored, last uint64) int { return cmp.Compare(c.last, last) })
	if !ok {
		return 0
	}
	return l.mu.chunks[i].file
}

// Cut forgets the chunks up to record last.
func (l *Log) Cut(last uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := 0
	for n < len(l.mu.chunks) && l.mu.chunks[n].last <= last {
		l.bytes.Add(-l.mu.chunks[n].size)
		n++
	}
	l.mu.chunks = append([]stored(nil), l.mu.chunks[n:]...)
}

type stored struct {
	last uint64
	size int64
	file uint64
}
