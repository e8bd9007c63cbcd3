package main

import (
	"strconv"

	"github.com/vigildb/vigil/placement"
)

// key is an object: its key in the forms that packages ask for.
type key struct {
	text  string
	bytes []byte
}

func keyOf(i uint64) key {
	b := append([]byte("object:"), "000000000"...)
	n := strconv.AppendUint(nil, i, 36)
	copy(b[len(b)-len(n):], n)
	return key{string(b), b}
}

// candidate is a row of the table.
type candidate struct {
	name     string
	origin   string // import path; empty for ours
	weighted bool   // takes units of different capacities
	most     int    // units beyond which building takes minutes; 0: any number
	build    func(weights []int) (*table, error)
}

// table is a candidate with n units, numbered from 0.
type table struct {
	byHash func(hash uint64) int // unit of a hash; nil if only keys are taken
	byKey  func(k *key) int      // as users would call it; answers anything that costs nothing
	unit   func(k *key) int      // unit of a key; nil if byHash serves

	strategy placement.Strategy // ours; nil for a peer

	// Peers change in place. add brings unit n and remove takes one away; a
	// removed unit n leaves the table as it was.
	add    func() error
	remove func(unit int) error
	// leaves is the unit whose leaving is measured.
	leaves int
}

// ours are the strategies of package placement.
func ours() []candidate {
	var out []candidate
	for _, spec := range placement.Strategies() {
		out = append(out, candidate{name: spec.Name, weighted: spec.Weighted,
			build: func(weights []int) (*table, error) { return buildOurs(spec, weights) }})
	}
	return out
}

// seed is that of every table and sample.
const seed = 1

func buildOurs(spec placement.Spec, weights []int) (*table, error) {
	opts, err := placement.Options{Strategy: spec.Name, Seed: seed}.Check()
	if err != nil {
		return nil, err
	}
	s := spec.New(opts)
	changes := make([]placement.Change, len(weights))
	for i, w := range weights {
		changes[i] = placement.Change{Unit: i, Capacity: capacityOf(w)}
	}
	if err := apply(s, changes...); err != nil {
		return nil, err
	}
	return &table{
		byHash:   s.Locate,
		byKey:    func(k *key) int { return s.Locate(placement.Hash(k.bytes, seed)) },
		strategy: s,
	}, nil
}

// capacityOf leaves room for exact arithmetic below a weight of 1.
func capacityOf(weight int) placement.Capacity { return placement.Capacity(weight) << 24 }

// apply makes several changes, at once where the strategy can.
func apply(s placement.Strategy, changes ...placement.Change) error {
	if b, ok := s.(placement.Batcher); ok {
		return b.Apply(changes)
	}
	for _, c := range changes {
		var err error
		if c.Capacity == 0 {
			err = s.Remove(c.Unit)
		} else {
			err = s.Set(c.Unit, c.Capacity)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// equalWeights and mixedWeights are the capacities of the tables: all the same,
// and 1 to 100.
func equalWeights(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func mixedWeights(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = 1 + int(placement.Mix(uint64(i)+seed)%100)
	}
	return out
}
