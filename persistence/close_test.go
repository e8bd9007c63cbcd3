package persistence

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestCloseStopsAPassUnderWay closes a store whose pass goes on until it is told to
// stop: Close would wait for it for ever.
func TestCloseStopsAPassUnderWay(t *testing.T) {
	const keys = 50_000
	fs := vfs.NewMem()
	s := openMemory(t, Options{FS: fs, IdleAfter: -1})
	setKeys(s, 0, keys, make([]byte, 2*tidyFrom/keys))
	begun := make(chan struct{})
	ended := make(chan error, 1)
	var once sync.Once
	go func() {
		ended <- s.passes.Materialise(changing{s.passes.Ctx, func() {
			once.Do(func() { close(begun) })
			<-s.passes.Ctx.Done()
		}})
	}()
	<-begun
	closeStore(t, s)
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the pass ended with %v, want %v", err, context.Canceled)
	}
	s = openMemory(t, Options{FS: fs, IdleAfter: -1})
	if n := s.Stats().Databases[0].Keys; n != keys {
		t.Errorf("%d keys are there, want %d", n, keys)
	}
	closeStore(t, s)
}
