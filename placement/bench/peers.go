package main

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/buraksezer/consistent"
	dgryskijump "github.com/dgryski/go-jump"
	"github.com/dgryski/go-maglev"
	"github.com/dgryski/go-rendezvous"
	lithammer "github.com/lithammer/go-jump-consistent-hash"
	"github.com/serialx/hashring"
	"github.com/vigildb/vigil/placement"
	"github.com/wdamron/go-anchorhash"
	stathat "stathat.com/c/consistent"
)

// points is how many points a unit of mean capacity has on the rings, where
// that can be chosen: what ketama made usual.
const points = 160

// peers are public packages for the same purpose, each set up as its
// documentation does.
func peers() []candidate {
	return []candidate{
		{name: "jump", origin: "dgryski/go-jump", build: func(w []int) (*table, error) {
			return jumpTable(len(w), func(h uint64, n int) int { return int(dgryskijump.Hash(h, n)) }), nil
		}},
		{name: "jump", origin: "lithammer/go-jump-consistent-hash", build: func(w []int) (*table, error) {
			return jumpTable(len(w), func(h uint64, n int) int { return int(lithammer.Hash(h, int32(n))) }), nil
		}},
		{name: "anchor", origin: "wdamron/go-anchorhash", build: anchorTable},
		{name: "rendezvous", origin: "dgryski/go-rendezvous", build: rendezvousTable},
		{name: "maglev", origin: "dgryski/go-maglev", build: maglevTable},
		{name: "ring, 160 points", origin: "serialx/hashring", weighted: true, build: hashringTable},
		{name: "ring, 20 points", origin: "stathat.com/c/consistent", most: 1000, build: stathatTable},
		{name: "bounded ring", origin: "buraksezer/consistent", most: 1000, build: boundedTable},
	}
}

func nameOf(unit int) string { return "unit" + strconv.Itoa(unit) }

func numberOf(name string) int {
	n, err := strconv.Atoi(name[len("unit"):])
	if err != nil {
		return -1
	}
	return n
}

func names(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = nameOf(i)
	}
	return out
}

// errLast says that a package can only take away the last unit.
var errLast = errors.New("only the last unit can leave")

// jumpTable is Lamping and Veach's function, which knows a number of units only.
func jumpTable(n int, locate func(hash uint64, n int) int) *table {
	start := n
	return &table{
		leaves: n - 1,
		byHash: func(h uint64) int { return locate(h, n) },
		byKey:  func(k *key) int { return locate(placement.Hash(k.bytes, seed), n) },
		add:    func() error { n = start + 1; return nil },
		remove: func(unit int) error {
			if unit != n-1 {
				return errLast
			}
			n--
			return nil
		},
	}
}

// anchorTable has room for twice the units, which its authors take as usual.
func anchorTable(w []int) (*table, error) {
	n := len(w)
	a := anchor.NewAnchor(2*n, n)
	return &table{
		leaves: n / 2,
		byHash: func(h uint64) int { return int(a.GetBucket(h)) },
		byKey:  func(k *key) int { return int(a.GetBucket(placement.Hash(k.bytes, seed))) },
		add: func() error {
			if got := a.AddBucket(); got != uint32(n) {
				return fmt.Errorf("anchor: added bucket %d, want %d", got, n)
			}
			return nil
		},
		remove: func(unit int) error { a.RemoveBucket(uint32(unit)); return nil },
	}, nil
}

// rendezvousTable makes a new one to take a unit away: Remove of this version
// reads past the end of its list.
func rendezvousTable(w []int) (*table, error) {
	n := len(w)
	hash := func(s string) uint64 { return placement.Hash([]byte(s), seed) }
	r := rendezvous.New(names(n), hash)
	return &table{
		leaves: n / 2,
		byKey:  func(k *key) int { return len(r.Lookup(k.text)) },
		unit:   func(k *key) int { return numberOf(r.Lookup(k.text)) },
		add:    func() error { r.Add(nameOf(n)); return nil },
		remove: func(unit int) error {
			left := names(n)
			if unit < n {
				left = append(left[:unit], left[unit+1:]...)
			}
			r = rendezvous.New(left, hash)
			return nil
		},
	}, nil
}

// maglevTable has the smaller of the two sizes that the package offers if that
// is a hundred times the units.
func maglevTable(w []int) (*table, error) {
	n, size := len(w), uint64(maglev.SmallM)
	if n > maglev.SmallM/100 {
		size = maglev.BigM
	}
	t := maglev.New(names(n), size)
	return &table{
		leaves: n / 2,
		byHash: func(h uint64) int { return t.Lookup(h) },
		byKey:  func(k *key) int { return t.Lookup(placement.Hash(k.bytes, seed)) },
		add:    func() error { t = maglev.New(names(n+1), size); return nil },
		remove: func(unit int) error {
			t = maglev.New(names(n), size)
			if unit < n {
				t.Rebuild([]int{unit})
			}
			return nil
		},
	}, nil
}

// hashringTable has points in proportion to the weights, 160 on average.
func hashringTable(w []int) (*table, error) {
	sum := 0
	for _, x := range w {
		sum += x
	}
	pointsOf := func(weight int) int { return max(1, (points*weight*len(w)+sum/2)/sum) }
	weights := make(map[string]int, len(w))
	for i, x := range w {
		weights[nameOf(i)] = pointsOf(x)
	}
	r := hashring.NewWithWeights(weights)
	get := func(k *key) string { name, _ := r.GetNode(k.text); return name }
	return &table{
		leaves: len(w) / 2,
		byKey:  func(k *key) int { return len(get(k)) },
		unit:   func(k *key) int { return numberOf(get(k)) },
		add:    func() error { r = r.AddWeightedNode(nameOf(len(w)), pointsOf(joining(w))); return nil },
		remove: func(unit int) error { r = r.RemoveNode(nameOf(unit)); return nil },
	}, nil
}

// stathatTable keeps the default of 20 points: each unit that is added sorts
// them all again, and more would take minutes.
func stathatTable(w []int) (*table, error) {
	c := stathat.New()
	c.Set(names(len(w)))
	get := func(k *key) string { name, _ := c.Get(k.text); return name }
	return &table{
		leaves: len(w) / 2,
		byKey:  func(k *key) int { return len(get(k)) },
		unit:   func(k *key) int { return numberOf(get(k)) },
		add:    func() error { c.Add(nameOf(len(w))); return nil },
		remove: func(unit int) error { c.Remove(nameOf(unit)); return nil },
	}, nil
}

type member string

func (m member) String() string { return string(m) }

type hasher struct{}

func (hasher) Sum64(b []byte) uint64 { return placement.Hash(b, seed) }

// boundedTable has consistent hashing with bounded loads, on partitions: a
// hundred a unit, and a unit has at most 1.25 times its part of them.
func boundedTable(w []int) (*table, error) {
	members := make([]consistent.Member, len(w))
	for i := range members {
		members[i] = member(nameOf(i))
	}
	c := consistent.New(members, consistent.Config{
		Hasher: hasher{}, PartitionCount: 100*len(w) + 1,
		ReplicationFactor: consistent.DefaultReplicationFactor, Load: consistent.DefaultLoad})
	return &table{
		leaves: len(w) / 2,
		byKey:  func(k *key) int { return len(c.LocateKey(k.bytes).String()) },
		unit:   func(k *key) int { return numberOf(c.LocateKey(k.bytes).String()) },
		add:    func() error { c.Add(member(nameOf(len(w)))); return nil },
		remove: func(unit int) error { c.Remove(nameOf(unit)); return nil },
	}, nil
}
