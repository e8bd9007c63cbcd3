package lua

import (
	"context"
	"errors"
	"runtime"
	"runtime/metrics"
	"sync"
	"sync/atomic"
)

// guard bounds what the running script uses. It is the context of the state, which asks
// Done before each instruction, and the meter of the libraries.
type guard struct {
	context.Context
	run *Run // set by the runner
}

// usage is what a run uses. Other goroutines end it by giving a reason: a kill, a
// shutdown, too much memory. From then on every instruction fails, so that a script that
// catches the error gets no further.
type usage struct {
	reason atomic.Pointer[error] // why the script has to end; nil if it need not
	limit  int64                 // bytes that it may use
	taken  int64                 // since the heap was last looked at; used by the runner
	grew   atomic.Bool           // the heap has grown by muchMemory

	mu      sync.Mutex
	base    int64 // bytes of the heap at the first look, 0 before; guarded by mu
	allowed int64 // bytes of the heap up to which there is no need to collect garbage; guarded by mu
}

// ended is the channel of a script that has to end.
var ended = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// Done is called before every instruction.
func (g *guard) Done() <-chan struct{} {
	if g.run == nil || g.run.reason.Load() == nil {
		return nil
	}
	return ended
}

// Err is why the script has to end.
func (g *guard) Err() error {
	if g.run == nil {
		return nil
	}
	return g.run.why()
}

// Step implements lualib.Meter.
func (g *guard) Step(int) error { return g.Err() }

// Take implements lualib.Meter.
func (g *guard) Take(bytes int) error {
	if g.run == nil {
		return nil
	}
	return g.run.take(int64(bytes))
}

// why is the reason why the run has to end, or nil.
func (u *usage) why() error {
	if why := u.reason.Load(); why != nil {
		return *why
	}
	return nil
}

// end ends the run. The first reason counts.
func (u *usage) end(why string) {
	err := errors.New(why)
	u.reason.CompareAndSwap(nil, &err)
}

// take notes that so many bytes are to be allocated. Most are garbage soon, so that the
// heap is looked at when they add up.
func (u *usage) take(bytes int64) error {
	if u.taken += bytes; u.taken > u.limit/4 {
		if bytes > u.limit {
			u.end(errMemory)
		} else {
			u.look(bytes)
		}
		u.taken = 0
	}
	return u.why()
}

// look ends the run if the heap has grown by more than the limit since the first look, or
// would if so many bytes more were taken. Much of it may be garbage, so that is collected
// first.
func (u *usage) look(more int64) {
	u.mu.Lock()
	defer u.mu.Unlock()
	heap := heapBytes()
	if u.base == 0 {
		if heap-liveBytes() > u.limit/2 { // else the script could use as much more when that is collected
			runtime.GC()
			heap = heapBytes()
		}
		u.base, u.allowed = heap, heap+u.limit
	}
	if heap+more > u.base+muchMemory {
		u.grew.Store(true)
	}
	if heap+more <= u.allowed {
		return
	}
	runtime.GC()
	if heap = heapBytes() + more; heap > u.base+u.limit {
		u.end(errMemory)
		return
	}
	u.allowed = max(u.base+u.limit, heap+u.limit/4)
}

// heapBytes is the memory of objects on the heap, with garbage.
func heapBytes() int64 { return metric("/memory/classes/heap/objects:bytes") }

// liveBytes is the memory of the objects that the last collection of garbage left.
func liveBytes() int64 { return metric("/gc/heap/live:bytes") }

func metric(name string) int64 {
	sample := [1]metrics.Sample{{Name: name}}
	metrics.Read(sample[:])
	return int64(sample[0].Value.Uint64())
}
