package slots

import (
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/persistence/writeback"
)

// Placer puts values at slots, and uses them, for one transaction or one goroutine of a replay.
type Placer struct {
	Clock uint64 // touch of a key used now, see Uses.ClockAt
	Err   error  // the first failure to read a page; whoever has the Placer forgets it

	keyspace   *keyspace.Keyspace
	writer     *writeback.Writer
	uses       *Uses
	failed     func(err error)
	random     uint64             // state of the generator behind the LFU counter
	paged      []*writeback.Pager // large values that this uses
	candidates []candidate        // values that may rest as records when this ends
}

// New returns a Placer. failed is told of each failure to read a page; seed is not 0.
func New(k *keyspace.Keyspace, w *writeback.Writer, u *Uses, failed func(err error), seed uint64) Placer {
	return Placer{keyspace: k, writer: w, uses: u, failed: failed, random: seed}
}

// Fail keeps the first error of the disk.
func (p *Placer) Fail(err error) {
	if p.Err == nil {
		p.Err = err
	}
	p.failed(err)
}

// Abandon forgets all values that were used, which are gone.
func (p *Placer) Abandon() { p.paged, p.candidates, p.Err = nil, nil, nil }
