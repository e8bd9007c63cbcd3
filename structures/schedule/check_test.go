package schedule

import (
	"errors"
	"math"
	"testing"

	"github.com/vigildb/vigil/scheduler"
)

func TestChecksAnswerWhatTheOperationWould(t *testing.T) {
	s := New(testKey)
	p := scheduler.DefaultParams()
	if err := s.CheckAdd(nil, []byte("a"), p); !errors.Is(err, ErrNotCreated) {
		t.Errorf("CheckAdd before Create: got %v, want %v", err, ErrNotCreated)
	}
	if err := s.Create(nil, DefaultConfig(), 1000); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckAdd(nil, []byte("a"), p); err != nil || s.Len() != 0 {
		t.Errorf("CheckAdd: got %v and %d nodes, want nil and none", err, s.Len())
	}
	p.Weight = math.NaN()
	if err := s.CheckAdd(nil, []byte("a"), p); !errors.Is(err, scheduler.ErrNumber) {
		t.Errorf("CheckAdd of weight NaN: got %v, want %v", err, scheduler.ErrNumber)
	}
	if _, err := s.Add(nil, []byte("a"), scheduler.DefaultParams(), 1000); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckLease([]byte("a"), 1000); !errors.Is(err, ErrNotLeased) {
		t.Errorf("CheckLease before Next: got %v, want %v", err, ErrNotLeased)
	}
	if _, err := s.Next(nil, 1, 1000, 50, NamesOnly); err != nil {
		t.Fatal(err)
	}
	if err := s.CheckLease([]byte("a"), 1049); err != nil {
		t.Errorf("CheckLease of a leased node: got %v, want nil", err)
	}
	if err := s.CheckLease([]byte("b"), 1049); !errors.Is(err, ErrNoNode) {
		t.Errorf("CheckLease of an unknown node: got %v, want %v", err, ErrNoNode)
	}
}
