package log

import (
	"errors"
	"syscall"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"github.com/vigildb/vigil/structures/testscale"
)

type counted struct{ writes, syncs, others int }

// count counts the changes of the disk from now on.
func (w *world) count() *counted {
	c := &counted{}
	w.hook = func(op errorfs.Op) error {
		switch {
		case op.Kind.ReadOrWrite() == errorfs.OpIsRead:
		case op.Kind == errorfs.OpFileWriteAt:
			c.writes++
		case op.Kind == errorfs.OpFileSyncData:
			c.syncs++
		default:
			c.others++
		}
		return nil
	}
	return c
}

// TestModel does random things to a log, among them the end of the process and of the machine at any moment between
// two of them, and holds it against a list.
func TestModel(t *testing.T) {
	done := map[string]int{}
	for seed := range testscale.Rounds(uint64(150)) {
		w := newWorld(t, seed)
		for range 150 {
			if t.Failed() {
				t.Fatalf("seed %d", seed)
			}
			op := w.random()
			done[op]++
			if err := w.do(op); err != nil {
				t.Fatalf("seed %d: %s: %v", seed, op, err)
			}
		}
		done["moved"] += w.moves
		w.log.Close()
	}
	for _, op := range []string{"append", "flush", "sync", "sync only", "trim", "checkpoint", "kill", "power", "reopen", "fail", "moved", "read"} {
		if done[op] < 250/testscale.By {
			t.Errorf("%q was done %d times", op, done[op])
		}
	}
}

func (w *world) random() string {
	switch n := w.rand.IntN(100); {
	case n < 50:
		return "append"
	case n < 65:
		return "flush"
	case n < 75:
		return "sync"
	case n < 80:
		return "sync only"
	case n < 84:
		return "trim"
	case n < 86:
		return "checkpoint"
	case n < 88:
		return "kill"
	case n < 91:
		return "power"
	case n < 93:
		return "reopen"
	case n < 96:
		return "fail"
	}
	return "read"
}

func (w *world) do(op string) error {
	switch op {
	case "append":
		w.append()
	case "flush":
		return w.flush()
	case "sync":
		return errors.Join(w.flush(), w.sync())
	case "sync only":
		return w.sync()
	case "trim":
		return w.trim()
	case "checkpoint":
		return w.checkpoint()
	case "kill": // all that the system has is there
		w.restart(w.flushed)
	case "power":
		w.disk = w.crash([]int{0, 20, 50, 80, 100}[w.rand.IntN(5)])
		w.restart(w.synced)
	case "reopen":
		if err := w.log.Close(); err != nil {
			return err
		}
		w.learn(w.log.Synced())
		w.restart(w.next())
	case "fail":
		return w.fail()
	case "read":
		if next := w.verify(w.log, w.flushed); next != w.flushed {
			w.t.Fatalf("%d frames can be read, want %d", next, w.flushed)
		}
	}
	return nil
}

// fail has an operation fail, and repairs the log: at once, or after others, and with the repair failing too.
func (w *world) fail() error {
	left := w.rand.IntN(6)
	w.hook = func(op errorfs.Op) error {
		if op.Kind.ReadOrWrite() == errorfs.OpIsRead || op.Kind == errorfs.OpFileClose {
			return nil
		}
		if left--; left < 0 {
			return syscall.EIO
		}
		return nil
	}
	for range 3 {
		w.append()
		err := errors.Join(w.flush(), w.sync())
		if err != nil && !errors.Is(err, syscall.EIO) {
			w.t.Fatal(err)
		}
	}
	for range w.rand.IntN(3) {
		left = w.rand.IntN(8)
		if err := w.repair(); err != nil && !errors.Is(err, syscall.EIO) {
			w.t.Fatal(err)
		}
		w.append()
		if w.rand.IntN(2) == 0 {
			if clone := w.crash(50); w.rand.IntN(2) == 0 {
				w.disk = clone
				w.restart(w.synced)
			}
		}
	}
	w.hook = nil
	return w.repair()
}
