package log

import (
	"bytes"
	"errors"
	"io"
	"sync"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// TestManyGoroutines has one goroutine append and flush, one sync, one trim, one make checkpoints, one append too, and
// some read, all at once; then the power fails amid that.
func TestManyGoroutines(t *testing.T) {
	disk := disktest.New()
	cfg := small(disk)
	l := mustOpen(t, cfg)
	const frames = 300
	var others sync.WaitGroup
	done := make(chan struct{}) // closed when all is appended
	until := func(what string, f func() error) {
		others.Go(func() { // ends when all is appended, or after an error
			for {
				if err := f(); err != nil {
					t.Errorf("%s: %v", what, err)
					return
				}
				select {
				case <-done:
					return
				default:
				}
			}
		})
	}
	until("sync", func() error { _, err := l.Sync(); return err })
	until("trim", func() error {
		at := l.Synced()
		if at.Segment > 3 {
			at.Segment -= 3 // readers have a chance
		}
		return l.Trim(at)
	})
	copies := 0
	until("checkpoint", func() error {
		end, err := l.Checkpoint(disk, "copy", Position{})
		if err != nil {
			return err
		}
		c := cfg
		c.Dir, c.Synced = "copy", map[uint64]int64{end.Segment: end.Offset}
		v, err := View(c)
		if err == nil {
			err = v.Read(Position{}, func(Frame) error { return nil })
		}
		copies++
		return errors.Join(err, disk.RemoveAll("copy"))
	})
	read := make([]int, 3)
	for i := range read {
		r := l.NewReader(Position{})
		until("read", func() error {
			f, err := r.Next()
			switch {
			case err == io.EOF:
				return nil
			case errors.Is(err, ErrTrimmed):
				r.Close()
				r = l.NewReader(Position{})
				return nil
			case err != nil:
				return err
			}
			read[i]++
			b, err := f.Bytes()
			if err == nil && f.Kind == 1 && !bytes.Equal(b, text(int(b[2])<<8|int(b[3]), len(b)-4)) {
				err = errors.New("a frame is not what was appended")
			}
			return err
		})
	}
	until("append", func() error {
		_, err := l.Append(2, []byte("another"))
		if err == nil || errors.Is(err, ErrUnsynced) {
			_, err = l.Flush()
		}
		return err
	})
	for i := range frames {
		_, err := l.Append(1, text(i, 500+i%7*400))
		for errors.Is(err, ErrUnsynced) {
			if _, err = l.Sync(); err == nil {
				_, err = l.Append(1, text(i, 500+i%7*400))
			}
		}
		if err == nil {
			_, err = l.Flush()
		}
		if err != nil {
			t.Errorf("frame %d: %v", i, err)
			break
		}
	}
	synced := l.Synced()
	clone := disk.CrashClone(vfs.CrashCloneCfg{})
	close(done)
	others.Wait()
	if copies == 0 || read[0]+read[1]+read[2] == 0 {
		t.Errorf("%d copies, frames read: %v", copies, read)
	}
	c := cfg
	c.FS, c.From = clone, Position{synced.Segment, HeadBytes}
	after := mustOpen(t, c)
	if end := after.Synced(); end.Before(synced) {
		t.Errorf("the log ends at %v, but was synced up to %v", end, synced)
	}
}
