package transport

import (
	"errors"
	"io"
	"os"
	"testing"
	"time"
)

func TestPipeWritesDoNotWait(t *testing.T) {
	a, b := Pipe()
	defer a.Close()
	big := make([]byte, 10<<20)
	if n, err := a.Write(big); n != len(big) || err != nil {
		t.Fatalf("Write: got %d, %v", n, err)
	}
	if n, err := io.ReadFull(b, make([]byte, len(big))); n != len(big) || err != nil {
		t.Fatalf("Read: got %d, %v", n, err)
	}
	if p := b.in; cap(p.buf) > keepBuffer {
		t.Errorf("a drained pipe keeps %d bytes", cap(p.buf))
	}
	for range 1000 {
		a.Write([]byte("ab"))
		b.Read(make([]byte, 1))
		b.Read(make([]byte, 1))
	}
	if p := b.in; cap(p.buf) > 1024 {
		t.Errorf("a pipe of 2 bytes at a time takes %d bytes", cap(p.buf))
	}
}

func TestPipeGivesTheRestBeforeItsEnd(t *testing.T) {
	a, b := Pipe()
	a.Write([]byte("last"))
	a.Close()
	if got, err := io.ReadAll(b); string(got) != "last" || err != nil {
		t.Errorf("ReadAll: got %q, %v", got, err)
	}
	if _, err := b.Write([]byte("x")); err == nil {
		t.Error("Write to a closed pipe: no error")
	}
	if err := a.Close(); err != nil {
		t.Errorf("the second Close: %v", err)
	}
}

func TestPipeReadEndsAtItsDeadline(t *testing.T) {
	a, b := Pipe()
	defer a.Close()
	b.SetReadDeadline(time.Now().Add(time.Millisecond))
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	a.Write([]byte("x"))
	b.SetReadDeadline(longAgo)
	if _, err := b.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("with content: got %v, want %v", err, os.ErrDeadlineExceeded)
	}
	b.SetReadDeadline(time.Time{})
	if n, err := b.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Errorf("without a deadline: got %d, %v", n, err)
	}
}
