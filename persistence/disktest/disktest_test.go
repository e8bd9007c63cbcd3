package disktest

import (
	"fmt"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// With MemFS alone this hangs: a clone that waits for the lock keeps the second reader out.
func TestClonesAreMadeAmidOperations(t *testing.T) {
	d := New()
	f, err := d.Create("a", vfs.WriteCategoryUnspecified)
	if err != nil {
		t.Fatal(err)
	}
	f.Close()
	done := make(chan error)
	go func() {
		defer close(done)
		for i := range 3000 {
			name := fmt.Sprint(i)
			lock, err := d.Lock("lock" + name)
			if err == nil {
				err = lock.Close()
			}
			if err == nil {
				err = d.Link("a", "link"+name)
			}
			if err != nil {
				done <- err
				return
			}
			f, err := d.ReuseForWrite("link"+name, "new"+name, vfs.WriteCategoryUnspecified)
			if err != nil {
				done <- err
				return
			}
			f.Close()
			d.Remove("new" + name)
		}
	}()
	for {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return
		default:
			d.CrashClone(vfs.CrashCloneCfg{})
		}
	}
}
