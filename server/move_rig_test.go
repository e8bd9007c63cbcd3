package server

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/structures/slots"
)

// testMoves is the part of a testGroup that moves slots: the other group is a function.
type testMoves struct {
	take   func(keys []byte, expected func() bool) error
	remove func(ctx context.Context, of *slots.Set, allowed func() bool) error
	order  func(to string, of *slots.Set) error

	importing, expected, left atomic.Pointer[slots.Set]

	mu      sync.Mutex
	begins  func(to string, of *slots.Set) error                               // guarded by mu
	sends   func(keys []byte) error                                            // guarded by mu
	gives   func(ctx context.Context, of *slots.Set) (decided bool, err error) // guarded by mu
	under   *slots.Set                                                         // an attempt is for these; guarded by mu
	ordered []string                                                           // guarded by mu
	number  uint64                                                             // of the attempt; guarded by mu

	databases int // of the other group; 0 is 1; guarded by mu
}

func (m *testMoves) OrderMove(_ context.Context, from, to string, of *slots.Set) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.ordered = append(m.ordered, from[:1]+" to "+to[:1]+": "+of.String())
	return nil
}

func (m *testMoves) BeginMove(_ context.Context, to string, of *slots.Set) (attempt uint64, databases int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.number++
	m.under = of
	return m.number, max(1, m.databases), m.begins(to, of)
}

func (m *testMoves) SendKeys(_ context.Context, _ uint64, keys []byte) error {
	m.mu.Lock()
	sends := m.sends
	m.mu.Unlock()
	return sends(keys)
}

func (m *testMoves) GiveSlots(ctx context.Context, _ uint64) (bool, error) {
	m.mu.Lock()
	gives, under := m.gives, m.under
	m.mu.Unlock()
	return gives(ctx, under)
}

func (m *testMoves) EndMove(uint64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.under = nil
}

func (m *testMoves) Passing() (importing, expected, left *slots.Set) {
	return m.importing.Load(), m.expected.Load(), m.left.Load()
}
