package grouplog

import (
	"bytes"
	"errors"
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vigildb/vigil/persistence/disktest"
)

// slow is a disk whose batches wait for the test.
type slow struct {
	*memory
	syncing chan struct{} // a batch has come
	synced  chan struct{}
}

func (s *slow) Apply(b *pebble.Batch) error {
	s.syncing <- struct{}{}
	<-s.synced
	return s.memory.Apply(b)
}

// What a server knows of other groups is part of its identity, and may change many times a second: meanwhile the log of its
// own group is written and read. What takes the log over does not put an older identity back.
func TestEntriesDoNotWaitForAnIdentity(t *testing.T) {
	d := &slow{openMemory(t, disktest.New()), make(chan struct{}), make(chan struct{})}
	l := mustOpen(t, d)
	noted, taken := make(chan error), make(chan error)
	go func() { noted <- l.SetIdentity([]byte("new")) }()
	<-d.syncing
	if err := l.Append([]Entry{{Index: 1, Term: 1, Type: 2}}, nil, false); err != nil { // would hang
		t.Fatal(err)
	}
	if _, last := l.Bounds(); last != 1 || l.Identity() != nil {
		t.Errorf("the log ends with %d, and the identity is %q before it is on the device", last, l.Identity())
	}
	identity := ""
	go func() {
		taken <- l.Records(&Takeover{}, func(key, value []byte) error {
			if bytes.Equal(key, l.recordKey(recordIdentity)) {
				identity = string(value[4:])
			}
			return nil
		})
	}()
	d.synced <- struct{}{}
	if err := errors.Join(<-noted, <-taken); err != nil {
		t.Fatal(err)
	}
	if string(l.Identity()) != "new" || identity != "new" {
		t.Errorf("the identity is %q, and %q after a takeover", l.Identity(), identity)
	}
}
