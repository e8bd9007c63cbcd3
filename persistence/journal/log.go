package journal

import (
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

// Add adds the next chunk: its last record, and its size in bytes.
func (l *Log) Add(last uint64, size int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mu.chunks = append(l.mu.chunks, stored{last, size})
	l.bytes.Add(size)
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
}
