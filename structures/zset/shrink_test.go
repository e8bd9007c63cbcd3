package zset

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/vigildb/vigil/structures"
)

type memoryDisk struct {
	pages  map[uint64][]byte
	failed bool
	reads  int
}

func (d *memoryDisk) ReadPage(id uint64, use func([]byte) error) bool {
	d.reads++
	if p, ok := d.pages[id]; !ok || use(slices.Clone(p)) != nil {
		d.failed = true
	}
	return !d.failed
}
func (d *memoryDisk) Failed() bool { return d.failed }
func (d *memoryDisk) Room() bool   { return false }
func (d *memoryDisk) Tight() bool  { return false }

func (d *memoryDisk) store(s *Set) {
	s.Pages(false, func(id uint64, page []byte) {
		if page == nil {
			delete(d.pages, id)
		} else {
			d.pages[id] = slices.Clone(page)
		}
	})
	s.Clean()
}

func shedAll(s *Set) {
	for range 5 {
		s.Shed(1 << 30)
	}
}

func TestManySections(t *testing.T) {
	defer structures.SetIndexedPages(structures.SetIndexedPages(2))
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		var keys structures.HashKeys
		s, d := New(&keys), &memoryDisk{pages: map[uint64][]byte{}}
		s.SetPager(d)
		model := map[string]float64{}
		for i := range 2500 {
			m, sc := fmt.Sprint(i), float64(r.IntN(1000000))
			s.Add(nil, []byte(m), sc, 0)
			model[m] = sc
		}
		shedAll(s)
		d.store(s)
		names := []string{}
		for m := range model {
			names = append(names, m)
		}
		slices.Sort(names)
		r.Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
		away := 0
		for i, m := range names {
			d.store(s)
			shedAll(s)
			check(t, s)
			if i%2 == 0 && s.root != nil && s.live < 6 {
				for range r.IntN(6) {
					s.Rank([]byte(names[i+r.IntN(len(names)-i)]))
				}
				spared := r.Uint32()
				s.index.each(0, func(sec *section) bool {
					if sec != s.index.section(spared) {
						s.presentSection(sec)
					}
					return true
				})
				for _, l := range s.leaves {
					if l != nil {
						s.present(l)
					}
				}
			}
			n, _ := s.Away()
			away += n
			if s.Len() > 300 && i%3 == 0 {
				s.Add(nil, []byte(m), float64(r.IntN(1000000)), 0)
				check(t, s)
			}
			if !s.Remove(nil, []byte(m)) || d.failed {
				t.Fatalf("seed %d, %d left: %q not removed, failed %v", seed, s.Len(), m, d.failed)
			}
			check(t, s)
			s.Away()
		}
		t.Logf("away on average %d", away/len(names))
	}
}
