package disktest

import (
	"io/fs"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/vigildb/vigil/persistence/tail"
)

// Memory is what the system of a machine has of mapped files: it outlives a process, and not the
// machine. The zero value has none.
type Memory struct {
	mu    sync.Mutex
	files map[string]mapping
}

type mapping []byte

// Bytes implements tail.Memory.
func (m mapping) Bytes() []byte { return m }

// Close implements tail.Memory.
func (m mapping) Close() error { return nil }

// Map stands for tail.Map.
func (m *Memory) Map(path string, size int) (tail.Memory, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	file, ok := m.files[path]
	switch {
	case size == 0 && !ok:
		return nil, fs.ErrNotExist
	case size == 0 || len(file) == size:
		return file, nil
	}
	if m.files == nil {
		m.files = map[string]mapping{}
	}
	m.files[path] = make(mapping, size)
	return m.files[path], nil
}

// Clone returns what the system has when the process dies now.
func (m *Memory) Clone() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := &Memory{files: map[string]mapping{}}
	for path, b := range m.files {
		words := make([]uint64, len(b)/8) // by words: meanwhile the process may write
		for i := range words {
			words[i] = atomic.LoadUint64((*uint64)(unsafe.Pointer(&b[i*8])))
		}
		c.files[path] = unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), len(b))
	}
	return c
}

// Each calls f with the bytes of each file.
func (m *Memory) Each(f func(b []byte)) {
	for _, b := range m.files {
		f(b)
	}
}
