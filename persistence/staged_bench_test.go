package persistence

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vigildb/vigil/persistence/writeback"
	"github.com/vigildb/vigil/structures/hash"
	"github.com/vigildb/vigil/structures/list"
)

// BenchmarkStagedPages measures what staging costs: elements are added to one value under a bound on memory that it exceeds many
// times, once as usual, and once with each batch in memory as a whole, however large. Pebble's own counts say how many bytes are
// written for an element, flushes and compactions included.
func BenchmarkStagedPages(b *testing.B) {
	const elements = 1 << 18
	for _, kind := range []struct {
		name string
		add  func(r *rand.Rand, tx *Tx, i int) error
	}{
		{"list", func(_ *rand.Rand, tx *Tx, i int) error {
			l, ch, _, err := Edit(tx, []byte("v"), list.New)
			if err == nil {
				l.Push(ch, list.Tail, fmt.Appendf(nil, "element %032d", i))
			}
			return err
		}},
		{"hash", func(r *rand.Rand, tx *Tx, _ int) error {
			h, ch, _, err := Edit(tx, []byte("v"), func() *hash.Hash { return hash.New(tx.HashKeys()) })
			if err == nil {
				h.Set(ch, fmt.Appendf(nil, "field %012d", r.IntN(4*elements)), fmt.Appendf(nil, "value %032d", 1))
			}
			return err
		}},
	} {
		for _, mode := range []string{"staged", "at once"} {
			b.Run(kind.name+"/"+mode, func(b *testing.B) {
				for b.Loop() {
					s := benchStore(b, Options{MaxMemory: 8 << 20})
					if mode == "at once" {
						resize(s, func(z *writeback.Sizes) { z.Stage = 1 << 40 })
					}
					r, tx := rand.New(rand.NewPCG(1, 2)), s.NewTx()
					var set Shards
					set.Add(s.Hash([]byte("v")))
					for i := range elements {
						tx.Lock(&set, 1)
						if err := kind.add(r, tx, i); err != nil {
							b.Fatal(err)
						}
						tx.Commit()
						tx.Unlock()
						s.eviction.MakeRoom()
						s.commits.Throttle()
					}
					if err := s.passes.Materialise(context.Background()); err != nil {
						b.Fatal(err)
					}
					m := s.files.Disk.DB.Metrics()
					written := m.WAL.BytesWritten
					for _, level := range m.Levels {
						written += level.TableBytesFlushed + level.TableBytesCompacted
					}
					b.ReportMetric(float64(written)/elements, "B/element")
				}
			})
		}
	}
}
