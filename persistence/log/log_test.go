package log

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

func TestWhatIsFlushedIsReadInOrder(t *testing.T) {
	l := mustOpen(t, small(vfs.NewMem()))
	var want [][]byte
	for i := range 40 {
		b := text(i, i*97)
		want = append(want, b)
		if _, err := l.Append(byte(i+1), b[:1], nil, b[1:]); err != nil {
			t.Fatal(err)
		}
		if got, err := contents(l, Position{}); err != nil || len(got) != i/5*5 {
			t.Fatalf("%d frames can be read, want %d: %v", len(got), i/5*5, err)
		}
		if i%5 == 4 {
			if _, err := l.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := contents(l, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, want...)
	if n := len(l.Segments()); n < 5 {
		t.Errorf("%d segments, want several", n)
	}
}

func TestAFrameWithoutPayloadIsAFrame(t *testing.T) {
	cfg := small(vfs.NewMem())
	l := mustOpen(t, cfg)
	put(t, l, nil)
	put(t, l, []byte{})
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	got, err := contents(mustOpen(t, cfg), Position{})
	if err != nil || len(got) != 2 {
		t.Errorf("%d frames, %v, want 2", len(got), err)
	}
}

// TestALongPayloadHasASegmentOfItsOwn also reads it piece by piece.
func TestALongPayloadHasASegmentOfItsOwn(t *testing.T) {
	cfg := small(vfs.NewMem())
	l := mustOpen(t, cfg)
	short, exact := text(1, 100), text(2, 16<<10-HeadBytes-frameHead-8)
	exact = append(exact, make([]byte, 16<<10-HeadBytes-frameHead-len(exact))...)
	longs := [][]byte{append(slices.Clone(exact), 1), text(3, pieceBytes-4), text(4, pieceBytes+4), text(5, 3*pieceBytes)}
	all := [][]byte{short, exact}
	for _, b := range longs {
		all = append(all, b, short)
	}
	for _, b := range all {
		put(t, l, b)
	}
	for range 2 {
		got, err := contents(l, Position{})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, got, all...)
		l.Close()
		l = mustOpen(t, cfg)
	}
	n := 0
	err := l.Read(Position{}, func(f Frame) error {
		if (f.Body != nil) != (f.Len > int64(len(exact))) {
			t.Errorf("frame of %d bytes: a body is %v", f.Len, f.Body)
		}
		if f.Body == nil {
			return nil
		}
		var b []byte
		for p := make([]byte, 1000); ; {
			k, err := f.Body.Read(p)
			b = append(b, p[:k]...)
			if err == io.EOF {
				break
			} else if err != nil {
				return err
			}
		}
		if !bytes.Equal(b, longs[n]) {
			t.Errorf("payload of %d bytes: read %d others", len(longs[n]), len(b))
		}
		n++
		return nil
	})
	if err != nil || n != len(longs) {
		t.Errorf("%d long payloads, want %d: %v", n, len(longs), err)
	}
}

func TestAppendRefuses(t *testing.T) {
	l := mustOpen(t, small(vfs.NewMem()))
	parts := slices.Repeat([][]byte{make([]byte, 1<<20)}, 4096)
	if _, err := l.Append(1, parts...); !errors.Is(err, ErrTooLarge) {
		t.Errorf("4 GiB: %v", err)
	}
	if _, err := l.Append(1, parts[:2]...); err != nil {
		t.Errorf("a frame of more than MaxUnsynced alone: %v", err)
	}
	if _, err := l.Append(1, []byte("x")); !errors.Is(err, ErrUnsynced) {
		t.Errorf("a frame beyond MaxUnsynced: %v", err)
	}
	if _, err := l.Flush(); err != nil {
		t.Error(err)
	}
	if _, err := l.Append(1, []byte("x")); !errors.Is(err, ErrUnsynced) {
		t.Errorf("a frame beyond MaxUnsynced that is written: %v", err)
	}
	if _, err := l.Sync(); err != nil {
		t.Error(err)
	}
	if _, err := l.Append(1, []byte("x")); err != nil {
		t.Errorf("after a sync: %v", err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Append(1, []byte("x")); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if _, err := l.Flush(); !errors.Is(err, ErrClosed) {
		t.Errorf("Flush after Close: %v", err)
	}
}

func TestAViewChangesNothing(t *testing.T) {
	cfg := small(vfs.NewMem())
	if v, err := View(cfg); err != nil || v.End() != (Position{}) {
		t.Errorf("no directory: %v", err)
	}
	if names, _ := cfg.FS.List("/"); len(names) > 0 {
		t.Errorf("a view made %q", names)
	}
	l := mustOpen(t, cfg)
	put(t, l, text(1, 100))
	v, err := View(cfg)
	if err != nil {
		t.Fatal(err)
	}
	got, err := contents(v, Position{})
	if err != nil {
		t.Fatal(err)
	}
	expect(t, got, text(1, 100))
	_, appendErr := v.Append(1)
	_, flushErr := v.Flush()
	for _, err := range []error{appendErr, flushErr, v.Trim(Position{9, 9}), v.Repair(nil)} {
		if !errors.Is(err, ErrReadOnly) {
			t.Errorf("a view: %v", err)
		}
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

func TestAReaderFollows(t *testing.T) {
	l := mustOpen(t, small(vfs.NewMem()))
	r := l.NewReader(Position{})
	defer r.Close()
	for i := range 300 {
		if _, err := r.Next(); err != io.EOF {
			t.Fatalf("at the end: %v", err)
		}
		at := put(t, l, text(i, 300))
		f, err := r.Next()
		if err != nil || !bytes.Equal(f.Payload, text(i, 300)) || f.Position != at {
			t.Fatalf("frame %d at %v: %v, %v", i, at, f.Position, err)
		}
		if err := l.Trim(at); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := l.NewReader(Position{1, HeadBytes}).Next(); !errors.Is(err, ErrTrimmed) {
		t.Errorf("a trimmed position: %v", err)
	}
}

// TestFlushIsOneWrite counts what the disk is asked for.
func TestFlushIsOneWrite(t *testing.T) {
	w := newWorld(t, 1)
	defer func() { w.log.Close() }()
	put(t, w.log, text(1, 10))
	ops := w.count()
	for range 20 {
		w.log.Append(1, text(2, 100))
	}
	w.log.Append(1, text(3, 3000)) // which is not copied
	w.log.Append(1, text(4, 10))
	w.log.Flush()
	if *ops != (counted{writes: 3}) {
		t.Errorf("a flush with one long payload: %+v", *ops)
	}
	*ops = counted{}
	w.log.Append(1, text(5, 100))
	w.log.Append(1, text(6, 100))
	w.log.Flush()
	if *ops != (counted{writes: 1}) {
		t.Errorf("a flush: %+v", *ops)
	}
	*ops = counted{}
	w.log.Sync()
	w.log.Sync()
	w.log.Flush()
	if *ops != (counted{syncs: 1}) {
		t.Errorf("a sync: %+v", *ops)
	}
}
